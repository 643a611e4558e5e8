package events

import (
	"crypto/ed25519"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const nextKey = "UCFK3LV26P5OKLL6TJ7BU5RRAWOUIWKOJBIQJHGT3XZGPGLHQRR4HGJC"

var grantedAt = time.Date(2026, 11, 20, 9, 14, 7, 120000045, time.UTC)

// granted returns a signed manifest with a grant that expires a day later.
func granted() Manifest {
	private := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	sign := func(text []byte) ([]byte, error) { return ed25519.Sign(private, text), nil }
	tenant := "acme"
	g, err := Grant{Tenant: &tenant, Producer: "coder/e4", Key: sentKey, Issued: grantedAt, Expires: grantedAt.Add(24 * time.Hour), Endorsed: "a\nnote\n"}.Sign(sentKey, sign)
	if err != nil {
		panic(err)
	}
	m := sent()
	m.Grant = &g
	if m, err = m.Sign(sentKey, sign); err != nil {
		panic(err)
	}
	return m
}

func TestGrant(t *testing.T) {
	m := granted()
	got, err := DecodeManifest(m.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, got); diff != "" {
		t.Errorf("decode (-want +got):\n%s", diff)
	}
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
	text := string(got.Grant.SignedText())
	want := "hooktrail/grant/v1\n" + `{"issuer":"` + sentKey + `","tenant":"acme","producer":"coder/e4","key":"` + sentKey +
		`","issued":"2026-11-20T09:14:07.120000045Z","expires":"2026-11-21T09:14:07.120000045Z","endorsed":"a\nnote\n"}`
	if diff := cmp.Diff(want, text); diff != "" {
		t.Errorf("signed text (-want +got):\n%s", diff)
	}
	public, _ := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)).Public().(ed25519.PublicKey)
	if !ed25519.Verify(public, got.Grant.SignedText(), got.Grant.Signature()) {
		t.Error("the signature of the grant does not verify")
	}
}

func TestGrant_Fault(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(m *Manifest)
		stored time.Time
		want   string
	}{
		{"Fine", func(*Manifest) {}, grantedAt, ""},
		{"AnyTenantAndProducer", func(m *Manifest) { m.Grant.Tenant, m.Grant.Producer, m.Tenant = nil, "", "x" }, grantedAt, ""},
		{"Key", func(m *Manifest) { m.Key = nextKey }, grantedAt, "another key"},
		{"Producer", func(m *Manifest) { m.Producer = "b" }, grantedAt, "another producer"},
		{"Tenant", func(m *Manifest) { m.Tenant = "" }, grantedAt, "another tenant"},
		{"Expired", func(*Manifest) {}, grantedAt.Add(24 * time.Hour), "expired"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := granted()
			tc.change(&m)
			if got := m.Grant.Fault(m, tc.stored); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestGrant_Validate(t *testing.T) {
	for _, tc := range []struct {
		name              string
		change            func(g *Grant)
		attribute, reason string
	}{
		{"Issuer", func(g *Grant) { g.Issuer = "A" + g.Issuer[1:] }, "grant.issuer", "nkey"},
		{"Key", func(g *Grant) { g.Key = "" }, "grant.key", "nkey"},
		{"Tenant", func(g *Grant) { *g.Tenant = "\xff" }, "grant.tenant", "UTF-8"},
		{"Producer", func(g *Grant) { g.Producer = "\x00" }, "grant.producer", "control"},
		{"Issued", func(g *Grant) { g.Issued = time.Time{} }, "grant.issued", "missing"},
		{"Endorsed", func(g *Grant) { g.Endorsed = strings.Repeat("x", maxEndorsement+1) }, "grant.endorsed", "too long"},
		{"Sig", func(g *Grant) { g.Sig = "" }, "grant.sig", "Ed25519"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := granted()
			tc.change(m.Grant)
			wantInvalid(t, m.Validate(), tc.attribute, tc.reason, -1)
		})
	}
}

func TestManifest_Next(t *testing.T) {
	for _, tc := range []struct {
		name              string
		change            func(m *Manifest)
		attribute, reason string
	}{
		{"Fine", func(*Manifest) {}, "", ""},
		{"Empty", func(m *Manifest) { m.Last, m.Count, m.Missing = 4, 0, nil }, "", ""},
		{"EmptyWithout", func(m *Manifest) { m.Last, m.Count, m.Missing, m.Next = 4, 0, nil, "" }, "last", "before first"},
		{"EmptyAtTheStart", func(m *Manifest) { m.First, m.Last, m.Count, m.Missing = 1, 0, 0, nil }, "last", "before first"},
		{"Same", func(m *Manifest) { m.Next = m.Key }, "next", "another"},
		{"Other", func(m *Manifest) { m.Next = "x" }, "next", "nkey"},
		{"Unsigned", func(m *Manifest) { m.Version, m.Key, m.Sig = 1, "", "" }, "v", "version 1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := granted()
			m.Next = nextKey
			tc.change(&m)
			err := m.Validate()
			if tc.reason != "" {
				wantInvalid(t, err, tc.attribute, tc.reason, -1)
				return
			}
			if err != nil {
				t.Error(err)
			}
			if again, err := DecodeManifest(m.Encode()); err != nil || cmp.Diff(m, again) != "" {
				t.Errorf("decoded %+v, %v", again, err)
			}
		})
	}
}
