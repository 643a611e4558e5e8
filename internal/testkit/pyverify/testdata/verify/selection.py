"""Completeness of one run, or of a time."""
from bisect import bisect_left, bisect_right

FOREVER = 2**63 - 1


def span(facts, gap):
    """The earliest and the latest time at which the server would have stored the events of a gap."""
    name, first, last, _, _ = gap
    p = facts.producers[name]
    low, high = bisect_left(p.have, first), bisect_right(p.have, last)
    after = p.received[p.have[low - 1]].stored if low else 0
    listed = sorted((m["last"], r.number, r.stored) for m, r in p.manifests if id(r) not in p.foreign and m["last"] >= last)
    before = min([p.received[n].stored for n in p.have[high:high + 1]] + [stored for _, _, stored in listed[:1]], default=FOREVER)
    return min(after, before), before


def restrict_run(facts, run):
    """Leaves what concerns a run, which must be sealed."""
    parts = {x.producer.name: x for x in facts.runs.get(run, [])}
    times = [c.stored for p in facts.producers.values() for c in p.own_contents() if c.run == run and c.cls == b"event"]

    def concerns(gap):
        name, _, last, cause, of = gap
        part = parts.get(name)
        if of:
            return of == run
        if not part:  # it may have lost all of its events in the run
            after, before = span(facts, gap)
            return bool(times) and after <= max(times) and before >= min(times)
        if part.fits and cause == "stream" and last < part.seal_number:
            return False
        return last >= min(part.first, part.seal[1] if part.seal else part.first)

    facts.run, facts.gaps = run, [g for g in facts.gaps if concerns(g)]
    named = {g[0] for g in facts.gaps}
    facts.shown = {name: p for name, p in facts.shown.items() if name in parts or name in named}
    facts.states = {r: s for r, s in facts.states.items() if r == run}
    facts.doubtful = not facts.of("sealed", "unsealed")
    return facts.completeness(any(p.unproven() for p in facts.shown.values()))


def restrict_time(facts, since, until, broke):
    """Leaves what concerns records that the server stored from since on and before until. broke is when the stream broke off last, or None."""
    contents = {name: [c for c in p.own_contents() if since <= c.stored < until] for name, p in facts.producers.items()}
    seen = {c.run for cs in contents.values() for c in cs if c.cls == b"event"}
    overlaps = lambda after, before: after < until and before >= since

    def doubtful(p):
        stored = [c.stored for c in p.received.values()]
        if p.unheard and overlaps(max(stored, default=0), broke):
            return True
        heard = p.heard[2].stored if p.heard[0] else 0
        if p.absent() and overlaps(heard, FOREVER):
            return True
        sent = [c.sequence for c in contents.get(p.name, [])]
        return bool(sent) and max(sent) > p.listed and not p.in_flight

    facts.gaps = [g for g in facts.gaps if overlaps(*span(facts, g))]
    named, unproven = {g[0] for g in facts.gaps}, [p for p in facts.shown.values() if doubtful(p)]
    facts.shown = {name: p for name, p in facts.shown.items() if contents.get(name) or name in named or p in unproven}
    sealed = {run for run, parts in facts.runs.items() if any(x.seal for x in parts)}
    facts.states = {run: s for run, s in facts.states.items() if run in seen and (s != "sealed" or run in sealed)}
    facts.doubtful = facts.doubtful or bool(facts.run) and not facts.of("sealed", "unsealed")
    facts.quiet = not facts.shown and not facts.gaps and not facts.run and facts.size > 0
    return facts.completeness(bool(unproven), not facts.shown and not facts.gaps)
