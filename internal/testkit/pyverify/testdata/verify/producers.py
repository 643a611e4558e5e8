"""Which records are the producer's own, and which numbers are missing."""
import itertools
from bisect import bisect_left, bisect_right
from collections import defaultdict
from notes import root_of
from records import gap_in, loss_in


def choose(contents, root):
    """Picks one of the contents under each number so that their tree has this root, or returns None."""
    last = [[c[-1] for c in contents]]
    for tries, pick in enumerate(itertools.chain(last, itertools.product(*contents))):
        if root_of(c.hash for c in pick).hex() == root:
            return pick
        if tries * len(contents) > 1 << 21:
            return None
    return None


def numbers(m):
    """The numbers that a manifest lists as sent."""
    at, found = m["first"], []
    for r in m["missing"]:
        found += range(at, r["first"])
        at = r["last"] + 1
    return found + list(range(at, m["last"] + 1))


def between(sorted_numbers, first, last):
    return sorted_numbers[bisect_left(sorted_numbers, first):bisect_right(sorted_numbers, last)]


def spans(sorted_numbers):
    """Ranges of consecutive numbers."""
    found = []
    for n in sorted_numbers:
        if found and found[-1][1] + 1 == n:
            found[-1] = (found[-1][0], n)
        else:
            found.append((n, n))
    return found


def gap_recorded(r):
    """The range that an event gap.recorded names, or None."""
    if not (r.cls and r.event and r.kind == b"gap.recorded"):
        return None
    gap = gap_in(r.event)
    return (gap["first"], gap["last"]) if gap else None


class Producer:
    def __init__(self, name):
        self.name, self.contents, self.manifests, self.received = name, defaultdict(list), [], {}
        self.gaps, self.lost_manifests, self.listed_missing, self.foreign, self.listed, self.key = [], [], [], {}, 0, None
        self.heard, self.enrolled, self.own, self.last, self.sent = ("", 0, None), False, 0, None, 0
        self.lost, self.is_silent, self.unheard, self.in_flight, self.interval = None, False, False, False, 0
        self.signatures, self.unchecked = [], False

    def owner(self, issuers):
        """Returns the key that owns the chain, the place of its first manifest, and whether nothing is before it."""
        valid = [i for i, (m, _) in enumerate(self.manifests) if m["signed"]]
        granted = [i for i in valid if issuers.counts(*self.manifests[i])]
        if not valid:
            return None, len(self.manifests), False
        key = self.manifests[(granted or valid)[0]][0]["key"]
        begins = [self.manifests[i][0] for i in (valid[0], (granted or valid)[0]) if self.manifests[i][0]["key"] == key]
        start = next(i for i in valid if self.manifests[i][0]["key"] == key)
        return key, start, (begins[0]["first"], begins[0]["prev"]) == (1, "")

    def chain(self, issuers):
        """Returns the manifests of the producer that continue its chain. Others are foreign, or a gap."""
        self.key, start, begins = self.owner(issuers)
        tip, links, taken, key, old = ("", 0), {("", 0)}, [], self.key, None
        self.unsigned_last = 0
        for i, (m, r) in enumerate(self.manifests):
            signing, empty = i >= start, m["first"] > m["last"]
            if m["signed"] and m["next"] and m["next"] == key and m["key"] == old and empty:
                continue  # the change of the key, once more
            if m["signed"] is False or m["signed"] is None and (signing or begins) or m["signed"] and m["key"] != key:
                self.foreign[id(r)] = r
                continue
            if i == start:
                self.unsigned_last = self.listed
            self.own, self.last = self.own + 1, r
            self.enrolled = self.enrolled or issuers.counts(m, r)
            at, resent = (m["prev"], m["first"] - 1), m["first"] <= self.listed
            if resent and (not signing or at not in links):
                self.gaps.append((m["first"], m["last"], "altered"))
                continue
            if not resent and at != tip:
                first = self.listed + 1 if self.listed + 1 < m["first"] else max(1, self.listed)
                self.lost_manifests.append((first, max(first, m["first"] - 1), "manifest"))
            if m["signed"]:
                self.signatures.append((r.at, m["key"]))
            self.heard = (m["state"] if m["signed"] else "", m["interval"] * 10**9, r)
            self.interval = m["interval"] * 10**9 if m["signed"] and m["interval"] else self.interval
            tip = (r.hash.hex(), m["last"])
            links |= {at, tip}
            self.listed = max(self.listed, m["last"])
            if m["signed"] and m["next"]:
                key, old = m["next"], m["key"]
            taken.append(m)
        return taken

    def settle(self, partial, issuers):
        """Finds the producer's own content under each number."""
        held, unsigned, unfit, chain = sorted(self.contents), [], [], self.chain(issuers)
        if partial:
            self.heard = ("", 0, self.heard[2])  # later manifests are not there
        for m in chain:
            for r in m["missing"]:
                self.listed_missing.append((r["first"], r["last"]))
                if m["signed"]:
                    self.foreign |= {id(c): c for n in between(held, r["first"], r["last"]) for c in self.contents[n]}
                else:
                    unsigned.append((r["first"], r["last"]))
            if m["count"] > len(held) or not all(n in self.contents for n in numbers(m)):
                continue
            wanted = numbers(m)
            contents = [self.contents[n] if m["signed"] else self.contents[n][:1] for n in wanted]
            pick = choose(contents, m["root"])
            if pick is None:
                unfit.append(m)
                continue
            self.foreign |= {id(c): c for cs, p in zip(contents, pick) for c in cs if c.hash != p.hash and c.sequence > self.unsigned_last}
        first = {n: next((c for c in cs if id(c) not in self.foreign), None) for n, cs in self.contents.items()}
        self.received = {n: c for n, c in first.items() if c}
        self.gaps += [(m["first"], m["last"], "altered") for m in unfit if all(n in self.received for n in numbers(m))]
        if self.key and self.received and not partial:
            self.drop_unlisted()
        self.have = sorted(self.received)
        self.sent = max([self.listed] + self.have[-1:])
        for first, last in unsigned:
            self.gaps += [(a, b, "altered") for a, b in spans(between(self.have, first, last))]
        if not partial:
            self.gaps += [g for g in self.lost_manifests if between(self.have, g[0], g[1])] + self.missing()

    def drop_unlisted(self):
        """Contents above the listed numbers are foreign unless they continue them."""
        end = self.listed
        while end + 1 in self.received:
            end += 1
        for n in [n for n in self.received if n > end]:
            self.foreign |= {id(c): c for c in self.contents[n]}
            del self.received[n]

    def missing(self):
        """The numbers without a content, with what explains them."""
        events = sorted(self.received.values(), key=lambda c: c.number)
        losses = [(x, "recorded") for x in map(gap_recorded, events) if x] + [(x, "producer") for x in self.listed_missing]
        gaps, at = [], 1
        for n in self.have + [self.sent + 1]:
            if at < n:
                cuts = sorted({at, n} | {c for (first, last), _ in losses for c in (first, last + 1) if at < c < n})
                before = ()
                for a, b in itertools.pairwise(cuts):
                    by = next((i for i, ((first, last), _) in enumerate(losses) if first <= a <= last), None)
                    if before == (by,):
                        gaps[-1] = (gaps[-1][0], b - 1, gaps[-1][2])
                    else:
                        gaps.append((a, b - 1, "stream" if by is None else losses[by][1]))
                    before = (by,)
            at = n + 1
        return gaps

    def announce(self, now, silent, breaks):
        """Finds what the producer may have sent that is not there."""
        state, interval, r = self.heard
        self.is_silent = state == "open" and self.lost is None and now - r.stored > 3 * interval
        if self.tail() and self.own:
            self.in_flight = max(c.stored for c in self.received.values()) > silent
            if self.interval:
                oldest = min(c.stored for n, c in self.received.items() if n > self.listed)
                self.in_flight = now - oldest <= min(3 * self.interval, now - silent)
        at = max((r.number for r in self.own_contents() + [self.last] if r), default=None)
        self.unheard = bool(breaks) and at is not None and at < breaks[-1]

    def own_contents(self):
        return [c for cs in self.contents.values() for c in cs if id(c) not in self.foreign]

    def tail(self):
        """Whether no manifest lists its last events."""
        return bool(self.received) and self.sent > self.listed

    def absent(self):
        return self.is_silent or self.lost is not None

    def unproven(self):
        return self.absent() or self.unheard or self.tail() and not self.in_flight

    def returned(self, lost, key):
        """Whether its outbox signed a manifest after an event producer.lost, which names its key."""
        if not self.signatures or self.signatures[-1][0] <= lost:
            return False
        return key in (k for _, k in self.signatures) if key else self.enrolled or self.signatures[0][0] < lost

    def standing(self):
        return 2 if self.enrolled else 1 if self.key else 0

    def settled(self, seal):
        """Whether a seal of another producer at a place can end its run: no event before it can be missing."""
        state, _, r = self.heard
        if self.lost is not None or not state:
            return True
        return max(self.received, default=0) <= self.listed if state == "closed" else seal < r.at


def find_lost(producers):
    """Applies the events producer.lost to the producers. It adds those without a record."""
    lost = {}
    for r in sorted((r for p in producers.values() for r in p.received.values()), key=lambda r: r.number):
        loss = loss_in(r.event) if r.cls and r.event and r.kind == b"producer.lost" else None
        if loss:
            lost[loss["producer"].encode(), loss["key"]] = (r.at, loss["last"])
    for (name, key), (at, last) in sorted(lost.items(), key=lambda x: x[1][0]):
        p = producers.setdefault(name, Producer(name))
        if not p.returned(at, key):
            p.lost = last
