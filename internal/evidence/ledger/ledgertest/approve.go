package ledgertest

import (
	"crypto/rand"
	"slices"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Person is a person who can approve orders.
type Person struct {
	Key    string // verifier key
	Signer note.Signer
}

// NewPerson creates a person with a new signing key.
func NewPerson(tb testing.TB, name string) Person {
	tb.Helper()
	private, public, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		tb.Fatal(err)
	}
	signer, err := note.NewSigner(private)
	if err != nil {
		tb.Fatal(err)
	}
	return Person{public, signer}
}

// SecondPerson returns an order which requires that one of the given people approves each later
// destructive order.
func SecondPerson(people ...Person) ledger.Order {
	s := ledger.SecondPerson{For: ledger.SecondPersonActions(), Within: time.Hour}
	for _, p := range people {
		s.Approvers = append(s.Approvers, p.Key)
	}
	slices.Sort(s.Approvers)
	return ledger.Order{Action: events.AuditApprovers, Second: s}
}

// Approve takes the order in the last message of the feed, adds the signature of p as an approval,
// and publishes the order again.
func (f *Feed) Approve(tb testing.TB, key *writer.Key, p Person) {
	tb.Helper()
	e, err := events.Decode(f.Messages[len(f.Messages)-1].Data)
	if err != nil {
		tb.Fatal(err)
	}
	d, err := events.Payload[events.AuditAccessedData](e)
	if err != nil {
		tb.Fatal(err)
	}
	signed, err := ledger.Approve([]byte(d.Order), note.VerifierList(VerifierOf(key)), p.Signer)
	if err != nil {
		tb.Fatal(err)
	}
	d.Order = string(signed)
	f.Event("auditor/e1", "", events.AuditAccessed, d)
}
