"""The verdict about completeness, and contradictions."""
from collections import defaultdict
from notes import escape, sha
from producers import Producer, find_lost
from records import Row, denies, succeeds
from runs import Part, state

ALONE = (b"misaddressed", b"id-reused")  # findings that are acknowledged one by one


def count(rows, arrivals):
    return {"leaves": len(rows), "events": sum(r.cls == b"event" for r in rows), "manifests": sum(r.cls == b"manifest" for r in rows),
            "set_apart": sum(r.cls in (b"conflict", b"quarantine") for r in rows), "seen_again": len(arrivals) - len(rows)}


class Facts:
    """What the arrivals say about producers, runs, and records that contradict others."""

    def __init__(self, arrivals, partial, silence, now, issuers, breaks=(), skip=frozenset(), foreign=()):
        self.silent, self.partial, self.issuers = now - silence, partial, issuers
        self.producers, self.denied, self.claims, self.acknowledged = {}, 0, [], {}
        self.doubtful, self.of_claims, self.run, denials, successes = False, True, None, set(), set()
        self.quiet, self.window = False, None  # nothing happened in a range of time; the verdict about one in a bundle
        self.said = None  # the acknowledgements in the verdict of a ledger about a range of time
        self.more_foreign, self.more_claims = 0, 0  # findings of a ledger that its bundle does not list
        first, others = {r.id: r for r in arrivals if r.cls == b"event"}, {identity(said_record(x)) for x in foreign}
        for i, r in enumerate(arrivals):
            r.number = i
            self.denied += result_of_denied(r, denials, successes)
            self.claim(r, first)
            if r.cls == b"quarantine" or r.index in skip and r.cls or identity(r) in others:
                continue
            p = self.producers.setdefault(r.producer, Producer(r.producer))
            if r.cls == b"manifest":
                p.manifests.append((r.manifest, r))
            elif not any(c.hash == r.hash for c in p.contents[r.sequence]):
                p.contents[r.sequence].append(r)
        for p in self.producers.values():
            p.settle(partial, issuers)
        self.foreign = [r for p in self.producers.values() for r in p.foreign.values()]
        self.gaps = [(p.name, *g, b"") for p in self.producers.values() for g in p.gaps]
        self.judge_runs()
        find_lost(self.producers)
        for p in self.producers.values():
            p.announce(now, self.silent, breaks)
        self.states = {run: state(parts, self.silent) for run, parts in self.runs.items()}
        self.shown = dict(self.producers)

    def claim(self, r, first):
        """Notes a record that claims the id, number or subject of another one."""
        if r.cls == b"conflict" and r.finding == b"id-reused":
            if not (r.id in first and same_recording(first[r.id], r)):
                self.claims.append(r)
        elif r.cls == b"conflict" or r.finding == b"misaddressed":
            self.claims.append(r)

    def judge_runs(self):
        parts, self.runs = defaultdict(dict), defaultdict(list)
        for p in self.producers.values():
            for n, c in p.received.items():
                if c.run:
                    parts[c.run, p.name][n] = c
        for (run, name), events in parts.items():
            part = Part(run, self.producers[name], events)
            self.runs[run].append(part)
            self.gaps += filter(None, [part.gap(self.partial)])

    def of(self, *states):
        return [run for run, s in self.states.items() if s in states]

    def completeness(self, unproven, empty=False):
        if self.gaps:
            return "GAPS"
        if self.of("unsealed"):
            return "UNSEALED"
        if unproven or self.run and not self.of("sealed"):
            return "UNPROVEN"  # without a seal, a run that ended looks like one that goes on
        return "EMPTY" if empty else "COMPLETE"

    def verdict(self, empty):
        return self.completeness(any(p.unproven() for p in self.producers.values()), empty)

    def counts(self):
        return {s: len(self.of(s)) for s in ("sealed", "open", "unsealed")}

    def of_nothing(self):
        """Leaves only the records that contradict others."""
        self.shown, self.foreign, self.gaps, self.states, self.of_claims = {}, [], [], {}, False
        return self

    def take_over(self, said):
        """Replaces the findings about records by those of the ledger, because a part lacks some of the records."""
        self.foreign, self.claims = ([said_record(x) for x in said.get(n) or []] for n in ("foreign", "contradicting"))
        self.more_foreign = said.get("foreign_count", 0) - len(self.foreign)
        self.more_claims = said.get("contradictions", 0) - len(self.claims)
        self.denied = said.get("denied_result_count", 0)

    def listed_none(self):
        """Keeps only the counts of findings about records."""
        self.more_foreign, self.more_claims = self.more_foreign + len(self.foreign), self.more_claims + len(self.claims)
        self.foreign, self.claims = [], []

    # Findings, whose ids are the hashes of their facts

    def findings(self):
        """Writes all findings that can be acknowledged as (id, record or None)."""
        for name, first, last, cause, run in self.gaps:
            yield finding(b"gap", (b"producer", name), (b"first", first), (b"last", last), (b"cause", cause), (b"run", run)), None
        for run in self.of("unsealed"):
            extents = sorted(b"%d %d %s" % (x.count, x.last, x.producer.name) for x in self.runs[run])
            yield finding(b"unsealed", (b"run", run), *((b"part", x) for x in extents)), None
        for p in self.shown.values():
            if p.unproven():
                absent = "lost %d" % p.lost if p.lost is not None else "silent" if p.is_silent else ""
                yield finding(b"unproven", (b"producer", p.name), (b"sent", p.sent), (b"received", len(p.received)), (b"listed", p.listed),
                              (b"manifests", p.own), (b"unchecked", "true" if p.unchecked else "false"), (b"unheard", "true" if p.unheard else "false"), (b"absent", absent)), None
        for r in self.foreign:
            sequence = r.manifest["last"] if r.manifest else r.sequence
            yield finding(b"foreign", (b"class", r.cls or b"event"), (b"producer", r.producer), (b"sequence", sequence), (b"sha256", r.hash.hex())), r
        for r in self.claims:
            if r.finding in ALONE and self.of_claims:
                yield finding(r.finding, (b"sha256", r.hash.hex())), r

    def exit(self, report, allow):
        """Writes the findings into the report. Returns whether the statuses 11 and 12 apply."""
        found = list(self.findings())
        report["new"] = sorted(id for id, _ in found if id not in self.acknowledged)
        report["acknowledged"] = sorted(id for id, _ in found if id in self.acknowledged)
        if self.said:
            for name, known in ("new", False), ("acknowledged", True):
                report[name] = sorted(x["id"] for x in self.said["findings"] or [] if bool(x.get("acknowledged")) == known)
        complete = report["completeness"] == "COMPLETE" or self.quiet and report["completeness"] == "EMPTY"
        if not allow:
            return not complete or bool(len(self.foreign) + self.more_foreign), bool(len(self.claims) + self.more_claims + self.denied)
        if self.said:
            return self.said["exit"] == 11, self.said["exit"] == 12
        known = lambda r: any(x is r and id in self.acknowledged for id, x in found)
        open_ = any(id not in self.acknowledged and not (r and r.finding in ALONE) for id, r in found)
        incomplete = open_ or not (complete or found) or self.doubtful or bool(self.more_foreign) or report["completeness"] == "EMPTY" and not self.quiet
        return incomplete, bool(self.denied + self.more_claims) or not all(self.settled(r, known) for r in self.claims)

    def settled(self, claim, known):
        """Whether a misaddressed record, one with a known id, or all foreign contents under a number with several ones, are acknowledged."""
        if claim.finding in ALONE:
            return known(claim)
        foreign = [r for r in self.foreign if not r.manifest and (r.producer, r.sequence) == (claim.producer, claim.sequence)]
        return bool(foreign) and not self.more_foreign and all(map(known, foreign))


def said_record(x):
    """A record that bundle.json names in a finding."""
    r = Row(index=x["leaf"], cls=x["class"].encode(), producer=x["producer"].encode(), sequence=x.get("sequence", 0), hash=bytes.fromhex(x.get("sha256", "")), finding=x.get("finding", "").encode())
    r.manifest = {"last": r.sequence} if r.cls == b"manifest" else None
    return r


def identity(r):
    """The leaf of a manifest, or the content of any other record."""
    return r.index if r.cls == b"manifest" else (r.producer, r.sequence, r.hash)


def finding(kind, *facts):
    text = b"hooktrail/finding/v1\nfinding " + kind + b"\n"
    for name, value in facts:
        value = value if isinstance(value, bytes) else str(value).encode()
        text += name + b" " + escape(value) + b"\n" if value else b""
    return sha(text).hex()


# Records that contradict others

def only(members, name):
    """The value of a member that is there once in any case of its name, or None."""
    named = [(n, v) for n, v in members if len(n) == len(name) and n.casefold() == name]
    return named[0][1] if len(named) == 1 and named[0][0] == name else None


def unstated(e):
    """Members that the source of an event does not state, so that two imports can differ in them."""
    cost = only(e["data"], "cost") if e["kind"] == "run.finished" else None
    names = {"untimed"} if only(e["data"], "untimed") is True else set()
    return names | ({"cost"} if isinstance(cost, tuple) and only(cost, "estimated") is True else set())


def recording(r):
    """What two recordings of one hook payload have in common, or None."""
    e, strict = r.event, ["", "ask", "deny"]
    if not e or e["kind"] in ("custom", "hook.executed") or not isinstance(e["data"], tuple):
        return None
    by_hooks = [n for n, _ in e["data"] if n.casefold() in ("executions", "verdict") and len(n) == len(n.casefold())]
    d = dict(e["data"])
    executions = [] if d.get("executions") is None else d["executions"]
    verdict = "" if d.get("verdict") is None else d["verdict"]
    if len(set(by_hooks)) < len(by_hooks) or set(by_hooks) - {"executions", "verdict"} or not isinstance(verdict, str):
        return None
    if not isinstance(executions, list) or not all(isinstance(x, tuple) for x in executions):
        return None
    said = [v for x in executions for n, v in x if len(n) == len("verdict") and n.casefold() == "verdict" and isinstance(v, str) and v in strict]
    stricter = max([s for s in said if verdict not in strict[strict.index(s):]], key=strict.index, default="")
    rest = [(n, v) for n, v in e["data"] if n != "executions" and not (n == "verdict" and v == "none") and n not in unstated(e)]
    return e["type"], e["runid"], e["toolcall"], stricter, rest


def same_recording(a, b):
    """Whether two records under one id are of one hook payload, which hooks got twice."""
    if any(r.removed and r.removed[0] == "pruned" for r in (a, b)):
        return (a.run, a.kind) == (b.run, b.kind) and a.kind not in (b"", b"custom", b"hook.executed")
    return recording(a) is not None and recording(a) == recording(b) and len({r.event["userid"] for r in (a, b)} - {""}) < 2


def result_of_denied(r, denials, successes):
    """Whether a record is a successful result of a denied call, or denies a call with such a result."""
    e = r.event
    if not e or not e["toolcall"]:
        return False
    call = (e["runid"], e["toolcall"])
    if denies(e) and call not in denials:
        denials.add(call)
        return call in successes
    if succeeds(e) and r.cls != b"quarantine":
        successes.add(call)
        return call in denials
    return False
