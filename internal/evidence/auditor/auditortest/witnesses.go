package auditortest

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor"
	"github.com/hooktrail/hooktrail/internal/evidence/anchor/witness/witnesstest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/evidence/transparency"
)

// Watchers starts three witnesses for the tenants acme and other, and writes a policy that requires
// two cosignatures.
func Watchers(tb testing.TB, dir string) (all []*witnesstest.Witness, policyFile string) {
	tb.Helper()
	key, err := writer.OpenKey(filepath.Join(dir, "keys"))
	if err != nil {
		tb.Fatal(err)
	}
	var text strings.Builder
	text.WriteString("# three operators\n")
	for i := range 3 {
		w := witnesstest.New(tb, fmt.Sprintf("witness.example/w%d", i))
		w.Watch(tb, "hooktrail/acme", key.Public())
		w.Watch(tb, "hooktrail/other", key.Public())
		fmt.Fprintf(&text, "witness W%d %s %s\n", i, w.VerifierKey, w.URL)
		all = append(all, w)
	}
	policyFile = filepath.Join(tb.TempDir(), "witnesses.policy")
	Put(tb, policyFile, text.String()+"group two 2 W0 W1 W2\nquorum two\n")
	return all, policyFile
}

// Policy reads a witness policy.
func Policy(tb testing.TB, file string) *transparency.Policy {
	tb.Helper()
	p, err := anchor.ReadPolicy(file)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// Away is an HTTP handler that answers every request with status 503, as if the service were
// unavailable.
func Away(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusServiceUnavailable) }
