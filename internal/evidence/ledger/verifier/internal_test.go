package verifier

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestSender_MoreThanIsRemembered(t *testing.T) {
	s := newSender(1, "coder", &foreigners{})
	const last = maxUnlisted + 2
	hashes := make([]events.Hash, 0, last)
	for n := uint64(1); n <= last; n++ {
		h := events.HashOf(binary.BigEndian.AppendUint64(nil, n))
		hashes = append(hashes, h)
		if n == last {
			h[0] ^= 1
		}
		s.event(n, h, 1)
	}
	m := events.Manifest{Version: 1, Tenant: "acme", Producer: "coder", First: 1, Last: last, Count: last, Root: events.BatchRoot(hashes).String()}
	s.manifest(listing{Manifest: m, hash: events.HashOf(m.Encode())})
	p, gaps := s.conclude()
	if len(gaps) == 0 && !p.unproven(false) {
		t.Errorf("an event that was altered: got %+v, no gap", p)
	}
}

func TestForeigners_Choose(t *testing.T) {
	var choices [][]events.Hash
	var own []events.Hash
	for n := range byte(9) {
		choices = append(choices, []events.Hash{{n, 1}, {n, 2}, {n, 3}})
		own = append(own, choices[n][n%3])
	}
	picked, ok := (&foreigners{}).choose(choices, events.BatchRoot(own).String())
	for i, p := range picked {
		if p != i%3 {
			t.Errorf("number %d: got content %d, want %d", i, p, i%3)
		}
	}
	if !ok {
		t.Error("the contents were not found")
	}
	for range 100 {
		choices = append(choices, choices[0])
	}
	f := &foreigners{}
	if _, ok := f.choose(choices, events.BatchRoot(nil).String()); ok || f.tried > maxChoices+len(choices) {
		t.Errorf("found %t after %d hashes", ok, f.tried)
	}
}

func TestIsDamage(t *testing.T) {
	for _, err := range []error{syscall.ENOSPC, syscall.EMFILE, os.ErrNotExist, os.ErrPermission} {
		path := &os.PathError{Op: "open", Path: "x", Err: err}
		if isDamage(fmt.Errorf("copy to read: %w", path)) {
			t.Errorf("%v was taken for damage", err)
		}
	}
}

func TestOpenSigned(t *testing.T) {
	c := ledger.Checkpoint{Tenant: "acme", Time: time.Date(2026, 11, 20, 9, 14, 7, 0, time.UTC)}
	private, public, err := note.GenerateKey(rand.Reader, "hooktrail")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := note.NewSigner(private)
	if err != nil {
		t.Fatal(err)
	}
	verifier, err := note.NewVerifier(public)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := c.Sign(signer)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := openSigned(signed, note.VerifierList(verifier)); err != nil || got != c {
		t.Errorf("open: got %+v, %v", got, err)
	}
	for name, data := range map[string][]byte{
		"OtherText":     bytes.Replace(signed, []byte("acme"), []byte("acmf"), 1),
		"MoreSignature": append(bytes.Clone(signed), "— other AAAAAAAAAAAA\n"...),
		"Twice":         append(bytes.Clone(signed), signed[bytes.Index(signed, []byte("—")):]...),
	} {
		if _, err := openSigned(data, note.VerifierList(verifier)); err == nil {
			t.Errorf("%s: it was opened", name)
		}
	}
}

func TestDoubts_Limit(t *testing.T) {
	c := newCompleteness(nil)
	for range maxForeign {
		c.contrary.add(FindingAt{Class: ledger.ClassQuarantine, Finding: ledger.FindingMisaddressed}, 0)
		c.contrary.add(FindingAt{Class: ledger.ClassQuarantine}, 0) // no alarm
	}
	if d, err := doubtsOf(c); err != nil || d.Incomplete || len(d.Claims) != maxForeign {
		t.Errorf("got %d claims, incomplete %v, %v", len(d.Claims), d.Incomplete, err)
	}
	c.found.count++ // of a foreign record that the list lacks
	if d, err := doubtsOf(c); err != nil || !d.Incomplete {
		t.Errorf("got incomplete %v, %v", d.Incomplete, err)
	}
}
