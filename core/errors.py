"""What can go wrong that a person can act on.

Every error carries its facts as attributes and one sentence fit for a dialog: what
happened, which value, what to try. Anything else that is raised is our own fault.
"""

from __future__ import annotations


class CoreError(Exception):
    """Root of the errors that a person can act on.

    Attributes:
        facts: the values that the sentence names, for logs and tests.
        detail: longer text that a dialog folds away, or an empty string.
    """

    def __init__(self, sentence: str, *, detail: str = "", **facts: object) -> None:
        super().__init__(sentence)
        self.detail = detail
        self.facts = facts

    @property
    def sentence(self) -> str:
        """The one sentence for the person in front of the window."""
        return str(self.args[0])


class ConfigurationError(CoreError):
    """A setting has a value that cannot work."""


class PromptError(ConfigurationError):
    """The prompt cannot be decoded: empty, or not text."""


class ModelLoadError(CoreError):
    """A checkpoint could not be found, read or fetched."""


class UnsupportedModelError(ModelLoadError):
    """A checkpoint is whole, but this runtime cannot run it correctly."""


class PlainOnlyError(UnsupportedModelError):
    """A model decodes alone but cannot take a token back, so nothing may draft."""


class VocabularyMismatchError(CoreError):
    """Draft and target do not speak the same tokens."""


class ContextLengthError(CoreError):
    """The prompt leaves no room in the target's context."""


class DeviceMemoryError(CoreError):
    """The device has not enough memory."""


class NumericalError(CoreError):
    """A model returned something that is no distribution."""


class TraceError(CoreError):
    """A trace file cannot be read or written."""
