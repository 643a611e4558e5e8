package auditor

import (
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	decided  = `{"event":"e","action":"none","rule":"x"}`
	answered = `{"event":"order","action":"none","rule":"` + events.RuleErased + `"}`
	kept     = `{"event":"order","action":"none","rule":"` + events.RuleWaits + `"}`
)

func say(f *ledgertest.Feed, producer, data string) {
	e := ledgertest.Form{Kind: events.IssueDecided, Data: data}.Event("")
	e.ID = events.NewID()
	f.Publish(producer, e)
}

// sayAs writes what a stranger says under the next number of a producer, which does not notice.
func sayAs(f *ledgertest.Feed, producer, data string, number uint64) {
	e := ledgertest.Form{Kind: events.IssueDecided, Data: data}.Event("")
	e.ID, e.Tenant, e.Producer, e.Sequence, e.Time = events.NewID(), f.Tenant, producer, number, f.Now
	f.Add(subjects.Address{Tenant: f.Tenant, Producer: producer, Run: e.Run, Kind: e.Kind()}, e.Encode())
}

// Any client can write an answer to an order, also under the id of the tracker. Only an answer that
// the enrolled key of the tracker has signed counts.
//
//guarantee:erase-issues
func TestTrackerAnswers_OnlySignedOnes(t *testing.T) {
	const first = "tracker-1" // decides before the order
	for _, tt := range []struct {
		name    string
		enrol   bool
		before  func(f *ledgertest.Feed)
		after   func(f *ledgertest.Feed)
		tracker string
		want    TrackerAnswer
	}{
		{"Signed", true, nil, func(f *ledgertest.Feed) { say(f, first, answered); f.Manifest(first) }, first, TrackerErased},
		{"SignedRefusal", true, nil, func(f *ledgertest.Feed) { say(f, first, kept); f.Manifest(first) }, first, TrackerKept},
		{"NotYetSigned", true, nil, func(f *ledgertest.Feed) { say(f, first, answered) }, first, TrackerUnproved},
		{"Forged", true, nil, func(f *ledgertest.Feed) { sayAs(f, first, answered, 2) }, first, TrackerUnproved},
		{"ForgedOldNumber", true, nil, func(f *ledgertest.Feed) { sayAs(f, first, answered, 1) }, first, TrackerMissing},
		{"ForgedAndNoticed", true, nil, func(f *ledgertest.Feed) {
			sayAs(f, first, answered, 2)
			say(f, first, decided)
			f.Manifest(first)
		}, first, TrackerUnproved},
		{"ForgedAndRefused", true, nil, func(f *ledgertest.Feed) {
			sayAs(f, first, answered, 3)
			say(f, first, kept)
			f.Manifest(first)
		}, first, TrackerKept},
		{"ForgedAndAnswered", true, nil, func(f *ledgertest.Feed) {
			sayAs(f, first, kept, 2)
			say(f, first, decided)
			say(f, first, answered)
			f.Manifest(first)
		}, first, TrackerErased},
		{"NumberTaken", true, nil, func(f *ledgertest.Feed) {
			sayAs(f, first, decided, 2)
			say(f, first, answered)
			f.Manifest(first)
		}, first, TrackerErased},
		{"NumberTakenByAnAnswer", true, nil, func(f *ledgertest.Feed) {
			sayAs(f, first, answered, 2)
			say(f, first, kept)
			sayAs(f, first, answered, 2)
			f.Manifest(first)
		}, first, TrackerKept},
		{"NumberTakenNotYetSigned", true, nil, func(f *ledgertest.Feed) {
			sayAs(f, first, decided, 2)
			say(f, first, answered)
		}, first, TrackerMissing},
		{"NumberTakenAndForged", true, nil, func(f *ledgertest.Feed) {
			sayAs(f, first, decided, 2)
			sayAs(f, first, answered, 2)
			say(f, first, decided)
			f.Manifest(first)
		}, first, TrackerMissing},
		{"ForgedLate", true, nil, func(f *ledgertest.Feed) {
			say(f, first, decided)
			f.Manifest(first)
			sayAs(f, first, answered, 2)
		}, first, TrackerMissing},
		{"NotEnrolled", false, nil, func(f *ledgertest.Feed) { say(f, first, answered); f.Manifest(first) }, first, TrackerUnproved},
		{"OtherProducer", true, nil, func(f *ledgertest.Feed) { say(f, "coder", answered); f.Manifest("coder") }, first, TrackerMissing},
		{"OtherTracker", true, nil, func(f *ledgertest.Feed) {
			say(f, "tracker-2", decided)
			say(f, "tracker-2", answered)
			f.Manifest("tracker-2")
		}, first, TrackerMissing},
		{"DecidedInItsName", true, func(f *ledgertest.Feed) {
			f.Enrol("tracker-2", "owner")
			f.Publish("tracker-2", ledgertest.Form{Kind: events.Custom, Data: `{"name":"no decision"}`}.Event(""))
			f.Manifest("tracker-2")
			sayAs(f, "tracker-2", decided, 2)
		}, func(*ledgertest.Feed) {}, first, TrackerMissing},
		{"StrangerDecides", true, func(f *ledgertest.Feed) { say(f, "tracker-2", decided) }, func(f *ledgertest.Feed) {
			say(f, "tracker-2", answered)
			f.Manifest("tracker-2")
		}, "tracker-2", TrackerUnproved},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			key, err := writer.OpenKey(auditor.KeyDir(dir))
			if err != nil {
				t.Fatal(err)
			}
			f := ledgertest.NewFeed("acme")
			f.Order(t, key, ledger.Order{Action: events.AuditIssuer, Issuer: ledgertest.PublicKey("owner")})
			if tt.enrol {
				f.Enrol(first, "owner")
			}
			say(f, first, decided)
			f.Manifest(first)
			if tt.before != nil {
				tt.before(f)
			}
			order := int64(len(f.Messages))
			f.Publish("auditor/e1", ledgertest.Form{Kind: events.Custom, Data: `{"name":"stands for the order"}`}.Event(""))
			f.Manifest("auditor/e1")
			tt.after(f)
			r, err := ledger.OpenReader(ledgertest.Write(t, auditor.LedgerDir(dir), key, f, 100))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			})
			var flags orderFlags
			name, err := flags.tracker(t.Context(), dir, r, order)
			if err != nil || name != tt.tracker {
				t.Fatalf("the tracker is %q, %v, want %s", name, err, tt.tracker)
			}
			done := []ledger.Outcome{{Order: ledger.Order{ID: "order"}, Leaf: order}}
			answers := trackerAnswers{producer: name, dataDir: dir, after: order}
			if got, err := answers.to(t.Context(), r, done); got != tt.want || err != nil {
				t.Errorf("%s, %v, want %s", got, err, tt.want)
			}
		})
	}
}
