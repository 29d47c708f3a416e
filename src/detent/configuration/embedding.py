"""The settings of `[embedding]`: the provider of vectors, and the texts that get one."""

from dataclasses import dataclass

from detent.configuration.setting import setting


@dataclass(frozen=True, kw_only=True)
class EmbeddingSettings:
    """The provider of vectors, its options, and the texts that are left out.

    None means the provider's own choice; for `token_budget` it means no limit.
    """

    provider: str = setting(
        "Provider of vectors. The default, wordllama, works offline.",
        "wordllama",
        pattern=r"[A-Za-z0-9][\w.-]*",
        form="a name: wordllama, sentence-transformers, openai or your own",
    )
    model: str | None = setting(
        "The provider's model; unset uses its default.",
        None,
        pattern=r"\S(.*\S)?",
        form="the name of a model that the provider knows",
        example='"text-embedding-3-small"',
    )
    dimensions: int | None = setting(
        "Number of dimensions of a vector; unset uses the model's own.",
        None,
        unit="dimensions",
        at_least=1,
        at_most=4_000,
        example="256",
    )
    batch_size: int | None = setting(
        "Number of texts per call of the provider; unset lets it choose.",
        None,
        unit="texts",
        at_least=1,
        at_most=10_000,
        example="64",
        option="--embedding-batch-size",
    )
    device: str = setting(
        "Device for sentence-transformers; auto uses a GPU if there is one.",
        "auto",
        pattern=r"auto|cpu|mps|cuda(:\d+)?",
        form="one of auto, cpu, mps, cuda, or cuda:1 and so on",
    )
    base_url: str = setting(
        "Address of the service for the provider openai; any that speaks OpenAI's protocol works.",
        "https://api.openai.com/v1",
        pattern=r"https?://[^\s@?#]+",
        form="an http:// or https:// address without a password or query",
        quoted=False,
    )
    api_key_env: str = setting(
        "Environment variable that holds the key to that service; empty if it needs none.",
        "OPENAI_API_KEY",
        pattern=r"([A-Z][A-Z0-9_]*)?",
        form="a variable's name in capitals, not the key itself",
        quoted=False,
    )
    max_tokens_per_text: int = setting(
        "Length of a text sent to that service; longer texts are cut. Estimated, 3 bytes per token.",
        8_000,
        unit="tokens",
        at_least=16,
    )
    max_tokens_per_request: int = setting(
        "Size of one request to that service, unless a single text is longer. Estimated, 3 bytes per token.",
        100_000,
        unit="tokens",
        at_least=16,
    )
    token_budget: int | None = setting(
        "Tokens that may be sent to that service before embedding stops; unset sets no limit.",
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
