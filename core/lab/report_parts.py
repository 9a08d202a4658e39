"""The parts of a report's page: tables, plots, text by origin. All text is escaped."""

from __future__ import annotations

import tomllib

import resources
from core.config import DecodingConfig, describe
from core.events import Lane, ModelFacts, Origin, TokenOutcome
from core.lab import report_plots
from core.lab.report_facts import LaneFacts, RunFacts
from core.lab.report_html import Row, safe, setting, table, yes
from core.lab.svg import Plot, draw
from core.trace import TraceHeader


def title(header: TraceHeader, facts: RunFacts) -> str:
    """Return what was run, for the heading."""
    what = "Race" if facts.race else "Run"
    target = header.target.name if header.target else "an unnamed target"
    drafter = f" with {header.draft.name}" if header.draft else ""
    return safe(f"{what} of {target}{drafter}")


def origin(header: TraceHeader) -> str:
    """Return where the numbers come from."""
    when = header.recorded_at[:16].replace("T", " ")
    machine = header.machine.processor if header.machine else "an unnamed machine"
    return safe(f"Recorded {when} on {machine}." if when else f"Recorded on {machine}.")


def plots(facts: RunFacts) -> str:
    """Return all plots with their headings and keys."""
    return "".join(_figure(plot) for plot in report_plots.plots(facts))


def _figure(plot: Plot) -> str:
    keys = (
        f'<span style="color:var(--{c.color})">{_stroke(c.dash)} {safe(c.name)}</span>'
        for c in plot.curves
    )
    caption = f"<b>{safe(plot.title)}</b> {' '.join(keys)}"
    return f"<figure><figcaption>{caption}</figcaption>{draw(plot)}</figure>"


def _stroke(dash: str) -> str:
    line = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        '<svg class="key" viewBox="0 0 26 8"><path d="M0 4H26" stroke="currentColor" '
        f'stroke-width="2"{line}/></svg>'
    )


def texts(facts: RunFacts) -> str:
    """Return the text of each lane, every token with its origin."""
    return "".join(_text(lane, run) for lane, run in facts.lanes.items())


def _text(lane: Lane, run: LaneFacts) -> str:
    prompt = "".join(token.text for token in run.started.prompt)
    spans = "".join(map(_span, run.tokens))
    return (
        f"<section><h3>{lane.value}</h3><details><summary>Prompt, "
        f"{len(run.started.prompt)} tokens</summary><pre>{safe(prompt)}</pre>"
        f"</details><pre>{spans}</pre></section>"
    )


def _span(token: TokenOutcome) -> str:
    if token.origin is Origin.PLAIN:
        return safe(token.text)
    kind = token.origin.value
    return f'<span class="{kind}" title="{kind}">{safe(token.text)}</span>'


def settings(header: TraceHeader, facts: RunFacts) -> str:
    """Return the settings at the start, and what changed in mid-run."""
    infos = describe()
    rows = [
        (infos[name].label, setting(getattr(header.settings, name)))
        for name in infos
        if hasattr(header.settings, name)
    ]
    changed = [
        (lane.value, f"from token {c.position + 1}", _changes(c.before, c.after))
        for lane, run in facts.lanes.items()
        for c in run.changes
    ]
    more = f"<h3>Changed in mid-run</h3>{table((), changed)}" if changed else ""
    return table((), rows) + more


def _changes(before: DecodingConfig, after: DecodingConfig) -> str:
    names = after.changes(before)
    infos = describe()
    return ", ".join(
        f"{infos[n].label} {setting(getattr(before, n))} → {setting(getattr(after, n))}"
        for n in names
    )


def models(header: TraceHeader) -> str:
    """Return the facts of target and drafter, a column for each: that fits a phone."""
    named = (("target", header.target), ("draft", header.draft))
    there = {role: _model_facts(model) for role, model in named if model is not None}
    return table(("", *there), zip(_MODEL_FACTS, *there.values(), strict=True))


_MODEL_FACTS = (
    *("name", "parameters", "layers", "vocabulary", "context", "device", "dtype"),
    *("memory, MB", "bit-identical rows"),
)


def _model_facts(model: ModelFacts) -> Row:
    return (
        *(model.name, f"{model.num_parameters:,}", model.num_layers),
        *(f"{model.vocabulary_size:,}", f"{model.context_length:,}", model.device),
        *(model.dtype, f"{model.memory_bytes / 1e6:,.0f}", yes(model.row_invariant)),
    )


def machine(header: TraceHeader) -> str:
    """Return what the numbers were measured on."""
    found = header.machine
    if found is None:
        return "<p>It was not recorded.</p>"
    rows = [
        ("system", found.system),
        ("processor", found.processor),
        ("cores", found.num_cores),
        ("memory, GB", f"{found.memory_bytes / 1e9:.1f}"),
        ("device", found.device),
        ("Python", found.python),
        ("torch", found.torch),
        ("transformers", found.transformers),
        ("Draftrace", found.draftrace),
    ]
    return table((), rows)


def notes(facts: RunFacts) -> str:
    """Return the sentences that the core said on the way."""
    items = "".join(f"<li>{safe(note)}</li>" for note in facts.notes)
    return f"<h2>Notes</h2><ul>{items}</ul>" if items else ""


def colors() -> str:
    """Return the themes' colours as CSS variables, dark where the reader wishes it.

    Paper is white for everybody.
    """
    wished = "@media screen and (prefers-color-scheme: dark)"
    dark = f"{wished} {{ :root {{ {_theme('dark')} }} }}"
    return f":root {{ {_theme('light')} }}\n{dark}\n"


def _theme(name: str) -> str:
    values = tomllib.loads(resources.text(f"themes/{name}.toml"))
    shades = dict(values["surfaces"])
    for role in ("accepted", "resampled", "bonus", "plain"):
        shades[role] = values[role]["line"]
        shades[f"{role}-fill"] = values[role]["fill"]
    return " ".join(f"--{key}: {value};" for key, value in shades.items())
