package events

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
)

func TestBatchRoot(t *testing.T) {
	var (
		hashes []Hash
		stored []tlog.Hash
	)
	reader := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		out := make([]tlog.Hash, len(indexes))
		for i, x := range indexes {
			out[i] = stored[x]
		}
		return out, nil
	})
	for n := range int64(300) {
		want, err := tlog.TreeHash(n, reader)
		if err != nil {
			t.Fatal(err)
		}
		if got := BatchRoot(hashes); got != Hash(want) {
			t.Fatalf("root of %d: got %s, want %x", n, got, want)
		}
		h := HashOf(fmt.Append(nil, n))
		hashes = append(hashes, h)
		more, err := tlog.StoredHashes(n, h[:], reader)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, more...)
	}
}

func TestParseHash(t *testing.T) {
	h := HashOf([]byte("x"))
	if got, err := ParseHash(h.String()); err != nil || got != h {
		t.Errorf("got %v, %v, want %v", got, err, h)
	}
	for _, s := range []string{"", h.String()[1:], h.String() + "0", strings.ToUpper(h.String()), "g" + h.String()[1:]} {
		if _, err := ParseHash(s); err == nil {
			t.Errorf("%q was accepted", s)
		}
	}
}

func TestNewSalt(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		s := NewSalt()
		if len(s) != 22 || strings.ContainsAny(s, "+/=") || seen[s] {
			t.Fatalf("salt %q is not 22 characters of base64url, or came twice", s)
		}
		seen[s] = true
	}
}

func TestDeriveID(t *testing.T) {
	id := DeriveID("acme", "claude-code", "s", "1", "run.started")
	if want := "8"; id[14:15] != want || !strings.ContainsAny(id[19:20], "89ab") {
		t.Errorf("%s is not a UUIDv8", id)
	}
	if again := DeriveID("acme", "claude-code", "s", "1", "run.started"); again != id {
		t.Errorf("got %s, want %s", again, id)
	}
	// Derived ids must not change, because a repeated import would then add events again.
	if got := DeriveID("a", "bc"); got != "3fafa1cf-2f19-87c1-929b-eb20cf0983f7" {
		t.Errorf("got %s", got)
	}
	if DeriveID("a", "bc") == DeriveID("ab", "c") || DeriveID() == DeriveID("") {
		t.Error("different parts give the same id")
	}
}
