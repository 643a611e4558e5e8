package tracker

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/nats-io/nkeys"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker/trackertest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func ofTenant(tenant string, list ...events.Event) []events.Event {
	for i := range list {
		list[i].Tenant = tenant
	}
	return list
}

// One key signs the orders of all tenants, so a change that one ledger records also counts for a
// tenant that began later.
//
//guarantee:rotate
func TestErase_TenantAfterTheChange(t *testing.T) {
	for _, given := range []string{"Old", "New"} {
		t.Run(given, func(t *testing.T) {
			p, keys := newPipeline(t), t.TempDir()
			old := openKey(t, keys)
			key, changed := change(t, keys)
			p.Publish("engine", ofTenant("beta", quoted(t, "r1", "mmuster", marker)...)...)
			p.Publish("other", ofTenant("beta", quoted(t, "r2", "jane", "REMAINS")...)...)
			erase := func(run string) ledger.Order {
				return ledger.Order{Tenant: "beta", Action: events.AuditErase, ID: "erase-" + run, Selection: ledger.OrderSelection{Run: run}}
			}
			p.Publish("auditor", changed, orderEvent(t, key, erase("r1")), orderEvent(t, old, erase("r2")))
			p.mustDrain(func(o *Options) {
				o.OrderKey = map[string]string{"Old": old.Public(), "New": key.Public()}[given]
			})
			if files := trackertest.FilesWith(t, p.DataDir, marker); len(files) > 0 {
				t.Errorf("erased text in %v", files)
			}
			if len(trackertest.FilesWith(t, p.DataDir, "REMAINS")) < 2 {
				t.Error("an order of the replaced key erased texts")
			}
		})
	}
}

// The log names each waiting order that would change texts, at its arrival and at each start. It
// does not name other orders.
//
//guarantee:erase-issues
func TestErase_LogNamesWaitingOrders(t *testing.T) {
	p := newPipeline(t)
	key, other := openKey(t, t.TempDir()), openKey(t, t.TempDir())
	_, signer, _ := strings.Cut(key.ID(), "+")
	issuer, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	name, err := issuer.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	p.Publish("auditor",
		orderEvent(t, key, ledger.Order{Action: events.AuditErase, ID: "erase-r1", Selection: ledger.OrderSelection{Run: "r1"}}),
		orderEvent(t, key, ledger.Order{Action: events.AuditIssuer, ID: "add", Issuer: name}))
	drain := func(orderKey string) string {
		var log bytes.Buffer
		p.mustDrain(func(o *Options) {
			o.OrderKey, o.Logger = orderKey, slog.New(slog.NewJSONHandler(&log, nil))
		})
		return log.String()
	}
	for _, orderKey := range []string{"", "", other.Public()} {
		text := drain(orderKey)
		if !strings.Contains(text, `"order waits`) || !strings.Contains(text, `"order":"erase-r1"`) || !strings.Contains(text, `"signed_by":"`+signer+`"`) {
			t.Errorf("with the key %q: the log does not name the order:\n%s", orderKey, text)
		}
		if strings.Contains(text, `"add"`) {
			t.Errorf("an order without effect on texts is in the log:\n%s", text)
		}
	}
	if text := drain(key.Public()); strings.Contains(text, "order waits") {
		t.Errorf("with the right key:\n%s", text)
	}
}
