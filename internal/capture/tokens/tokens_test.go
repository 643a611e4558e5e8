package tokens_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/tokens"
)

func create(tb testing.TB, path, tenant string) tokens.Secret {
	tb.Helper()
	secret, token, err := tokens.Create(tb.Context(), path, tenant, "a note")
	if err != nil {
		tb.Fatal(err)
	}
	if token.Tenant != tenant || !strings.HasPrefix(secret.Reveal(), "htk_"+token.ID+"_") {
		tb.Fatalf("got %+v and %v, want a token of %s", token, secret, tenant)
	}
	return secret
}

// A new token is valid at once, and a revoked one is invalid at once.
func TestFile_Life(t *testing.T) {
	path := tokens.Path(t.TempDir())
	f, err := tokens.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := f.Check(""); err != nil || got.Tenant != "" || f.Required() {
		t.Fatalf("without a file: got %+v, %v, want everybody let in", got, err)
	}
	acme, other := create(t, path, "acme"), create(t, path, "other")
	for secret, want := range map[tokens.Secret]string{acme: "acme", other: "other"} {
		if got, err := f.Check(secret); err != nil || got.Tenant != want {
			t.Errorf("got %+v, %v, want %s", got, err, want)
		}
	}
	if _, err := f.Check(""); !errors.Is(err, tokens.ErrRequired) {
		t.Errorf("without a token: got %v, want ErrRequired", err)
	}
	if _, err := tokens.Revoke(t.Context(), path, "other", acme.Reveal()); !errors.Is(err, tokens.ErrNone) {
		t.Errorf("another tenant's: got %v, want ErrNone", err)
	}
	if _, err := tokens.Revoke(t.Context(), path, "", acme.Reveal()); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Check(acme); !errors.Is(err, tokens.ErrUnknown) {
		t.Errorf("revoked: got %v, want ErrUnknown", err)
	}
	if _, err := f.Check(other); err != nil {
		t.Errorf("the other token: got %v, want it let in", err)
	}
	if _, err := tokens.Revoke(t.Context(), path, "", "nosuch"); !errors.Is(err, tokens.ErrNone) {
		t.Errorf("got %v, want ErrNone", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Check(""); !errors.Is(err, tokens.ErrRequired) {
		t.Errorf("file taken away: got %v, want nobody let in", err)
	}
}

func TestFile_NoneLeft(t *testing.T) {
	path := tokens.Path(t.TempDir())
	secret := create(t, path, "acme")
	if _, err := tokens.Revoke(t.Context(), path, "", strings.Split(secret.Reveal(), "_")[1]); err != nil {
		t.Fatal(err)
	}
	f, err := tokens.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Check(""); !errors.Is(err, tokens.ErrRequired) {
		t.Errorf("got %v, want ErrRequired", err)
	}
}

// Neither the file nor any printed form contains the secret.
func TestSecret_IsNotTold(t *testing.T) {
	path := tokens.Path(t.TempDir())
	secret := create(t, path, "acme")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(map[string]any{"token": secret})
	if err != nil {
		t.Fatal(err)
	}
	hidden := secret.Reveal()[len("htk_12345678_"):]
	for name, text := range map[string]string{
		"file": string(data), "json": string(asJSON), "formats": fmt.Sprintf("%v %+v %#v %s %q", secret, secret, secret, secret, secret),
	} {
		if strings.Contains(text, hidden) {
			t.Errorf("%s tells the secret: %s", name, text)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, %v, want 0600", info.Mode(), err)
	}
}

// A file that is invalid, or that other users may change, refuses every token.
func TestFile_Broken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	secret := create(t, path, "acme")
	f, err := tokens.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, err := f.Check(secret); err == nil {
			t.Errorf("broken file: got %+v, want nobody let in", got)
		}
	}
	if _, err := tokens.Open(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, want it to name the file", err)
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.List(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("got %v, want to be told how to mend it", err)
	}
}

// Check reads the mode of the file each time, so it accepts tokens again once the mode
// is repaired.
func TestFile_Mended(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	secret := create(t, path, "acme")
	f, err := tokens.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o600, 0o622, 0o600} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if got, err := f.Check(secret); (err == nil) != (mode == 0o600) {
			t.Errorf("mode %o: got %+v, %v", mode, got, err)
		}
	}
}

func TestFile_NoTenant(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens.json")
	secret := create(t, path, "acme")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := tokens.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(data), "acme", "")), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := f.Check(secret); err == nil {
		t.Errorf("got %+v, want nobody let in", got)
	}
}

func TestCreate_Concurrent(t *testing.T) {
	path := tokens.Path(t.TempDir())
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, _, err := tokens.Create(t.Context(), path, "acme", ""); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if list, err := tokens.List(path); err != nil || len(list) != 8 {
		t.Errorf("got %d tokens, %v, want 8", len(list), err)
	}
}

// Create refuses a tenant that cannot be part of a NATS subject.
func TestCreate_BadTenant(t *testing.T) {
	for _, tenant := range []string{"", strings.Repeat("t", 300)} {
		if _, _, err := tokens.Create(t.Context(), tokens.Path(t.TempDir()), tenant, ""); err == nil {
			t.Errorf("%.10q: got a token", tenant)
		}
	}
}

func FuzzCheck(f *testing.F) {
	path := tokens.Path(f.TempDir())
	secret := create(f, path, "acme")
	file, err := tokens.Open(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add("")
	f.Add("htk__")
	f.Add(secret.Reveal()[:20])
	f.Add(secret.Reveal() + "=")
	f.Add(strings.ToUpper(secret.Reveal()))
	f.Fuzz(func(t *testing.T, presented string) {
		got, err := file.Check(tokens.Secret(presented))
		if (err == nil) != (presented == secret.Reveal()) {
			t.Fatalf("%q: got %+v, %v", presented, got, err)
		}
	})
}
