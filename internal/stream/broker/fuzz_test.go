package broker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/hooktrail/hooktrail/internal/subjects"
)

func put(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A key file either contains a user's key, which only its public half finds, or causes an error
// that does not quote the file.
func FuzzKeyFile(f *testing.F) {
	_, seed, err := newKey()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add(append(seed, '\n'))
	f.Add([]byte("-----BEGIN USER NKEY SEED-----\n" + string(seed) + "\n------END USER NKEY SEED------\n"))
	f.Add(seed[:20])
	f.Add([]byte("SAAGXMOXBKNKGDNQCNZ"))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		path := filepath.Join(keyDir(dir), "auditor"+keyEnding)
		put(t, path, data)
		public, err := publicKey(path)
		if err != nil {
			if text := strings.TrimSpace(string(data)); len(text) > 12 && strings.Contains(err.Error(), text) {
				t.Errorf("the error quotes the key: %v", err)
			}
			return
		}
		if !nkeys.IsValidPublicUserKey(public) {
			t.Errorf("%q is no user's", public)
		}
		if name, ok := keyOwner(dir, public); !ok || name != "auditor" {
			t.Errorf("%s is of %q", public, name)
		}
	})
}

// The file of a tenant's key admits only that key, and its routes reach no other tenant.
func FuzzTenantFile(f *testing.F) {
	public, _, err := newKey()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(fmt.Appendf(nil, `{"tenant":"acme","key":%q,"created":"2026-11-21T00:00:00Z"}`, public))
	f.Add(fmt.Appendf(nil, `{"tenant":"a.>","key":%q}`, public))
	f.Add([]byte(`{"tenant":"acme","key":"UAFFSQ76QI5IUGPXKIFKYOJF6Q7BNVCZZYO5RPRHYG62NWXPTKGNLDQR"}`))
	f.Add([]byte("null"))
	f.Add(fmt.Appendf(nil, `{"tenant":%q,"key":%q}`, strings.Repeat("x", subjects.MaxID+1), public))
	f.Fuzz(func(t *testing.T, data []byte) {
		dataDir := t.TempDir()
		dir := filepath.Join(dataDir, "nats")
		put(t, filepath.Join(tenantDir(dir), public+tenantEnding), data)
		k, err := readTenant(dir, public)
		listed, listErr := Tenants(dataDir)
		if (err == nil) != (listErr == nil) || len(listed) != 0 != (err == nil) {
			t.Fatalf("read: %v, listed: %v, %v", err, listed, listErr)
		}
		if err != nil {
			return
		}
		token, err := subjects.Token(k.Tenant)
		if err != nil || k.Key != public || k.Tenant == "" {
			t.Fatalf("let in %+v: %v", k, err)
		}
		routes, err := subjects.TenantRoutes(subjects.Space{}, k.Tenant)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range routes {
			if !strings.Contains(r.To+".", "."+token+".") || strings.Contains(r.To, ">") {
				t.Errorf("tenant %q gets out to %s", k.Tenant, r.To)
			}
		}
	})
}

func FuzzRefusal(f *testing.F) {
	f.Add(`Permissions Violation for Publish to "hooktrail.ev.a.p.r.custom"`)
	f.Add(`Permissions Violation for Subscription to "_INBOX.x.*" using queue "q"`)
	f.Add(`something else`)
	f.Fuzz(func(t *testing.T, text string) {
		err := Refusal(fmt.Errorf("%w: %s", nats.ErrPermissionViolation, text))
		if _, action, ok := strings.Cut(text, "Permissions Violation for "); ok {
			text = action
		}
		if !errors.Is(err, ErrPermission) || !strings.HasSuffix(err.Error(), text) {
			t.Errorf("%q: got %v", text, err)
		}
		if err := Refusal(errors.New(text)); err != nil {
			t.Errorf("%q is no refusal: %v", text, err)
		}
	})
}

// The file with the broker of a data directory names a broker without credentials, or causes an
// error that does not quote the file.
func FuzzHome(f *testing.F) {
	f.Add([]byte(`{"url":"nats://nats:4222","stream":"2026-11-20T09:14:07.123456789Z"}`))
	f.Add([]byte(`{"url":"nats://context:prod"}`))
	f.Add([]byte(`{"url":"nats://me:secret@nats:4222"}`))
	f.Add([]byte(`{"url":""}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := parseHome(data)
		if err != nil {
			if text := strings.TrimSpace(string(data)); len(text) > 12 && strings.Contains(err.Error(), text) {
				t.Errorf("the error quotes the file: %v", err)
			}
			return
		}
		if h.URL == "" || redactURL(h.URL) != h.URL {
			t.Errorf("url %q", h.URL)
		}
	})
}
