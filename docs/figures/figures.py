"""Draws the figures of this folder from measurements.

    clenshaw demo && python3 docs/figures/figures.py

speed.svg    bar chart of the latest steps.json of `cargo xtask bench-peers --only step --name steps`
filters.svg  the filters learned by `clenshaw demo` (runs/demo/filters.svg); unchanged if that file is missing

Both have an opaque background that follows the reader's colour scheme.
"""

import json
import pathlib
import statistics

ROOT = pathlib.Path(__file__).resolve().parents[2]
GRAPH, TITLE = "pubmed", "One training step of ClenshawGCN on Pubmed"
NOTE = "forward, backward and optimiser; order 16, width 64, two threads; median of {rounds} rounds; lower is better"
LABELS = {
    "clenshaw": "clenshaw",
    "PyTorch CSR": "PyTorch, hand-optimised",
    "PyTorch transposes": "PyTorch with autograd",
    "PyG message passing": "PyG, message passing",
}
WIDTH, LEFT, RIGHT, TOP, ROW, BAR = 720, 200, 90, 64, 36, 22

BARS = """
  text { font: 13px system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
  .title { font-size: 16px; font-weight: 600 }
  .note { font-size: 12px; fill: #59636e }
  .ours { font-weight: 600 }
  .card { fill: #ffffff; stroke: #d1d9e0 }
  .bar { fill: #afb8c1 }
  .bar.ours { fill: #0969da }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc }
    .note { fill: #9198a1 }
    .card { fill: #0d1117; stroke: #3d444d }
    .bar { fill: #656c76 }
    .bar.ours { fill: #4493f8 }
  }
"""

# CSS overrides the presentation attributes of the program's plots.
PLOT = """
  @media (prefers-color-scheme: dark) {
    svg { fill: #f0f6fc }
    rect { fill: #0d1117 }
    line[stroke="#e6e6e6"] { stroke: #21262d }
    [stroke="#777"] { stroke: #9198a1 }
    [stroke="#0072B2"] { stroke: #58a6ff }
    [stroke="#D55E00"] { stroke: #f0883e }
  }
"""


def latest():
    """Returns the newest steps.json; the names of the folders in benches/runs begin with a date."""
    return json.loads(max(ROOT.glob("benches/runs/*/steps.json")).read_text())


def medians(record):
    """Returns the milliseconds per step of each implementation on GRAPH, in the order of LABELS."""
    comparisons = record["comparisons"]
    row = next(c for c in comparisons if c["model"] == "clenshaw-gcn" and c["graph"] == GRAPH)
    seconds = {r["implementation"]: statistics.median(r["seconds"]) for r in row["results"]}
    return [(name, 1000 * seconds[name]) for name in LABELS]


def draw(record):
    rows = medians(record)
    scale = (WIDTH - LEFT - RIGHT) / max(ms for _, ms in rows)
    height = TOP + ROW * len(rows) + 34
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img">'
    yield f"<title>{TITLE}: " + ", ".join(f"{LABELS[name]} {ms:.0f} ms" for name, ms in rows) + "</title>"
    yield f"<style>{BARS}</style>"
    yield f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>'
    yield f'<text class="title" x="24" y="36">{TITLE}</text>'
    for i, (name, ms) in enumerate(rows):
        kind = " ours" if name == "clenshaw" else ""
        y, length = TOP + ROW * i, scale * ms
        yield f'<text class="label{kind}" x="{LEFT - 12}" y="{y + 16}" text-anchor="end">{LABELS[name]}</text>'
        yield f'<rect class="bar{kind}" x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR}" rx="3"/>'
        yield f'<text class="label{kind}" x="{LEFT + length + 8:.1f}" y="{y + 16}">{ms:,.0f} ms</text>'
    yield f'<text class="note" x="24" y="{height - 18}">{NOTE.format(rounds=record["rounds"])}</text>'
    yield "</svg>"


def restyle(plot):
    """Adds colours for dark mode to a plot of the program."""
    return plot.replace("<title>", f"<style>{PLOT}</style>\n<title>", 1)


if __name__ == "__main__":
    here = pathlib.Path(__file__).parent
    (here / "speed.svg").write_text("\n".join(draw(latest())) + "\n")
    demo = pathlib.Path("runs/demo/filters.svg")
    if demo.exists():
        (here / "filters.svg").write_text(restyle(demo.read_text()))
