package gauntlet

import (
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/testkit/pyverify"
)

// comparedEvery is how many verifications of an attack come to one that the second verifier
// judges too. A trial has one, two or five of them, and each kind gets its turn.
const comparedEvery = 7

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

// compare asks the second verifier about some of the trials, and about all clean ones.
func (a *attack) compare(tb testing.TB, q pyverify.Request, r verifier.Report) {
	tb.Helper()
	s := a.second
	s.tried++
	if !a.clean && trials > comparedEvery && (s.tried-1)%comparedEvery > 0 {
		return
	}
	if s.compared++; s.verifier != nil {
		s.verifier.Compare(tb, q, r)
	}
}
