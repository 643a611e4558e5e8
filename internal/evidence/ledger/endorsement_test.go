package ledger

import (
	"strings"
	"testing"
	"time"
)

func TestEndorsement(t *testing.T) {
	signer, known := signing(t)
	e := Endorsement{Issuer: sampleIssuer, Tenant: "acme", Time: time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)}
	signed, err := e.Sign(signer)
	if err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(signed, "\n\n")
	if want := "hooktrail/issuer/v1\nissuer " + sampleIssuer + "\ntenant acme\ntime 2026-11-20T09:00:00.000000000Z"; text != want {
		t.Errorf("text %q, want %q", text, want)
	}
	if got, err := OpenEndorsement(signed, known); err != nil || got != e {
		t.Errorf("opened %+v, %v", got, err)
	}
	_, unknown := signing(t)
	if _, err := OpenEndorsement(signed, unknown); err == nil {
		t.Error("it opened with a key that did not sign it")
	}
	if _, err := OpenOrder([]byte(signed), known); err == nil {
		t.Error("an endorsement is taken for an order")
	}
	if _, err := (Endorsement{Issuer: "x"}).Sign(signer); err == nil {
		t.Error("an endorsement of no key was signed")
	}
	for _, tc := range []struct {
		issuer, tenant string
		want           bool
	}{{sampleIssuer, "acme", true}, {sampleIssuer, "globex", false}, {"x", "acme", false}} {
		if e.Covers(tc.issuer, tc.tenant) != tc.want {
			t.Errorf("covers %q in %q: %v", tc.issuer, tc.tenant, !tc.want)
		}
	}
	if e.Tenant = ""; !e.Covers(sampleIssuer, "globex") {
		t.Error("an endorsement for all tenants does not cover one")
	}
}

func FuzzParseEndorsement(f *testing.F) {
	f.Add("hooktrail/issuer/v1\nissuer " + sampleIssuer + "\ntenant a%0Ab\ntime 2026-11-20T09:00:00.000000000Z\n")
	f.Add("hooktrail/issuer/v1\nissuer " + sampleIssuer + "\ntime 2026-11-20T09:00:00.000000000Z\n")
	f.Add("hooktrail/issuer/v1\nissuer x\n")
	f.Fuzz(func(t *testing.T, text string) {
		e, err := ParseEndorsement(text)
		if err == nil && e.text() != text {
			t.Errorf("the text became %q", e.text())
		}
	})
}
