package gauntlet

import (
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/testkit/pyverify"
)

// comparedTrials is how many trials of each attack the second verifier judges too.
const comparedTrials = 5

// unread maps attacks that the second verifier cannot judge to the reason.
var unread = map[string]string{ //nolint:gochecknoglobals // a constant
	"BundlePageUnsigned": "it does not build the page of a bundle",

	"OutboxRemoved": outboxes, "OutboxRemovedRestart": outboxes, "OutboxRemovedFinished": outboxes,
	"ProducerKilled": outboxes, "HeartbeatReplayed": outboxes, "ClosedForged": outboxes, "RunTakenOver": outboxes,

	"StampKept": stamps, "StampRemoved": stamps, "StampOther": stamps, "StampAltered": stamps, "StampOwnAuthority": stamps,

	"GhostAcknowledged": allowed, "GhostAgain": allowed, "AcknowledgeForged": allowed, "AcknowledgedGrows": allowed,
}

const (
	outboxes = "its trials are about outboxes of a data directory"
	stamps   = "it reads no time stamps"
	allowed  = "its trials allow acknowledged findings"
)

// second compares verdicts of an attack's trials with the second verifier.
type second struct {
	verifier        *pyverify.Verifier
	tried, compared int
}

func (a *attack) verify(tb testing.TB, path, tenant string, k *key, trusted []byte) verifier.Report {
	tb.Helper()
	r := verify(tb, path, tenant, k, trusted)
	a.compare(tb, pyverify.Request{Path: path, Key: k.Public(), Tenant: tenant, Trusted: string(trusted)}, r)
	return r
}

func (a *attack) compare(tb testing.TB, q pyverify.Request, r verifier.Report) {
	tb.Helper()
	s := a.second
	s.tried++
	if unread[a.name] != "" || (s.tried-1)%max(1, trials/comparedTrials) > 0 {
		return
	}
	if s.compared++; s.verifier != nil {
		s.verifier.Compare(tb, q, r)
	}
}
