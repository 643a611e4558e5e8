"""Seals and the states of runs."""
from notes import sha
from records import derived, seal_in

SERVICE = {"producer.lost", "run.sealed", "gap.recorded", "issue.decided", "issue.edited", "audit.accessed", "clock.ticked"}


def tally(events, last):
    """What a seal says of the events of a producer in a run up to a number."""
    digest, of = bytes(32), sorted((n, c.hash) for n, c in events.items() if n <= last and c.kind != b"run.sealed")
    for _, hash in of:
        digest = sha(digest + hash)
    return (len(of), of[0][0], of[-1][0], digest.hex()) if of else (0, 0, 0, digest.hex())


def goes_on(c):
    """Whether the run of an event needs a seal behind it."""
    kind = c.kind.decode("utf-8", "replace")
    return c.cls and kind and kind not in SERVICE | {"custom", "blob.chunk"}


class Part:
    """The events of a producer in a run, by number."""

    def __init__(self, run, producer, events):
        self.run, self.producer, self.events, self.seal, self.seal_number, self.sealed_at = run, producer, events, None, 0, (0, 0)
        for n, c in sorted(events.items(), key=lambda x: x[1].number):
            if c.cls and c.kind == b"run.sealed" and c.event and n > self.seal_number:
                self.take(n, c)
        going = {n: c for n, c in events.items() if goes_on(c)}
        self.alive, self.pending = bool(going), bool(going) and (not self.seal or max(going) > self.seal[2])
        self.last_at = max((c.at for c in going.values()), default=(0, 0))
        self.last_stored = max((c.stored for c in going.values()), default=0)
        self.fits = bool(self.seal) and tally(events, self.seal[2]) == self.seal
        counted = [n for n, c in events.items() if c.kind != b"run.sealed"]
        self.count, self.first, self.last = len(counted), min(counted, default=1), max(counted, default=0)

    def take(self, n, c):
        e, d = c.event, seal_in(c.event)
        if not d:
            return
        said = d["count"], d["first"], d["last"], d["digest"]
        mine = e["id"] == derived("seal", e["tenant"], e["producer"], e["runid"], str(said[0]), said[3])
        if mine or tally(self.events, said[2]) == said:
            self.seal, self.seal_number, self.sealed_at = said, n, c.at

    def gap(self, partial):
        """The gap of a seal that counts other events, unless some of them are missing anyway."""
        if not self.seal or self.fits:
            return None
        p = self.producer
        first, last = max(1, self.seal[1]), min(self.seal[2], p.sent)
        if partial or first > last or all(n in p.received for n in range(first, last + 1)):
            return (p.name, self.seal[1], self.seal[2], "seal", self.run)
        return None


def state(parts, silent):
    """The state of a run. A later seal of another producer ends the events before it, if its standing is no lower."""
    def ended(p):
        return any(o is not p and o.seal and p.last_at < o.sealed_at and o.producer.standing() >= p.producer.standing()
                   and p.producer.settled(o.sealed_at) for o in parts)
    if all(ended(p) for p in parts if p.pending):
        return "sealed" if any(p.alive or p.seal for p in parts) else None
    return "open" if max(p.last_stored for p in parts) > silent else "unsealed"
