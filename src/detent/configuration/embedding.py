"""The settings of `[embedding]`: which provider turns texts into vectors, and which texts."""

from dataclasses import dataclass

from detent.configuration.setting import setting


@dataclass(frozen=True, kw_only=True)
class EmbeddingSettings:
    """Who turns texts into vectors, how, and which texts are left out.

    None is the provider's own choice; for `token_budget` it is no limit.
    """

    provider: str = setting(
        "Who turns texts into vectors. Without another choice it is wordllama, which works offline.",
        "wordllama",
        pattern=r"[A-Za-z0-9][\w.-]*",
        form="a name: wordllama, sentence-transformers, openai or your own",
    )
    model: str | None = setting(
        "The provider's model; unset takes its default.",
        None,
        pattern=r"\S(.*\S)?",
        form="the name of a model that the provider knows",
        example='"text-embedding-3-small"',
    )
    dimensions: int | None = setting(
        "How many numbers a vector has; unset takes what the model gives.",
        None,
        unit="dimensions",
        at_least=1,
        at_most=4_000,
        example="256",
    )
    batch_size: int | None = setting(
        "How many texts the provider is given at a time; unset lets it choose.",
        None,
        unit="texts",
        at_least=1,
        at_most=10_000,
        example="64",
        option="--embedding-batch-size",
    )
    device: str = setting(
        "Where sentence-transformers computes; auto takes a GPU if there is one.",
        "auto",
        pattern=r"auto|cpu|mps|cuda(:\d+)?",
        form="one of auto, cpu, mps, cuda, or cuda:1 and so on",
    )
    base_url: str = setting(
        "Where the provider openai finds its service; any that speaks OpenAI's protocol will do.",
        "https://api.openai.com/v1",
        pattern=r"https?://[^\s@?#]+",
        form="an http:// or https:// address without a password or query",
        quoted=False,
    )
    api_key_env: str = setting(
        "The environment variable that holds the key to that service; empty if it needs none.",
        "OPENAI_API_KEY",
        pattern=r"([A-Z][A-Z0-9_]*)?",
        form="a variable's name in capitals, not the key itself",
        quoted=False,
    )
    max_tokens_per_text: int = setting(
        "How much of a text is sent to that service; what is longer is cut. Estimated, 3 bytes for a token.",
        8_000,
        unit="tokens",
        at_least=16,
    )
    max_tokens_per_request: int = setting(
        "How much one request to that service holds, unless a single text is longer. Estimated likewise.",
        100_000,
        unit="tokens",
        at_least=16,
    )
    token_budget: int | None = setting(
        "How many tokens that service may be sent before embedding stops; unset sets no limit.",
        None,
        unit="tokens",
        at_least=1,
        example="5000000",
    )
    min_characters: int = setting(
        "Shorter texts get no vector.",
        12,
        unit="characters",
        at_least=0,
    )
    skip_labels: tuple[str, ...] = setting(
        "Labels whose items get no vector.",
        (),
        pattern=r".+",
        form='a list of labels, such as ["Image", "Table"]',
    )

    def reason_to_skip(self, label: str, text: str) -> str | None:
        """The reason why a text gets no vector, or None if it gets one. White space around a text does not count."""
        if label in self.skip_labels:
            return f"items with the label {label} get no vector"
        if len(text.strip()) < max(self.min_characters, 1):
            return f"a text of fewer than {max(self.min_characters, 1)} characters gets no vector"
        return None
