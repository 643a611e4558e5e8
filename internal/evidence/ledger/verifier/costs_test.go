package verifier_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/testkit/costly"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// A record costs by its size, and not by its content.
func TestVerify_CostsOfPayloads(t *testing.T) {
	for _, tt := range []struct {
		kind   events.Kind
		sameID bool
	}{{events.RunSealed, false}, {events.ToolBefore, true}} {
		t.Run(string(tt.kind), func(t *testing.T) {
			key := ledgertest.NewKey(t)
			paths := make(map[string]string)
			for name, payload := range costly.Payloads(`"tool":"Bash"`) {
				f := ledgertest.NewFeed("acme")
				f.Open("p", time.Hour)
				for i := range 2 {
					e := ledgertest.Form{Kind: tt.kind, Data: payload}.Event("c")
					e.Data = fmt.Appendf(nil, `{"n%d":1,%s`, i, payload[1:])
					if e.ID = fmt.Sprint("e", i); tt.sameID {
						e.ID = "e"
					}
					f.Publish("p", e)
				}
				f.Manifest("p")
				paths[name] = ledgertest.Write(t, t.TempDir(), key, f, 1000)
			}
			costly.Check(t, `"tool":"Bash"`, 30, 5, func(name, _ string) {
				ledgertest.Verify(t, paths[name], key, verifier.Options{Tenant: "acme"})
			})
		})
	}
}
