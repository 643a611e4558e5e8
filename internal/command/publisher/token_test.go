package publisher

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/tokens"
)

func command(t *testing.T, args ...string) (stdout string, err error) {
	t.Helper()
	cmd := Command()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&bytes.Buffer{})
	cmd.SetArgs(args)
	err = cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func TestTokenCommand(t *testing.T) {
	dir := t.TempDir()
	text, err := command(t, "token", "create", "--data-dir", dir, "--tenant", "acme", "--note", "farm")
	if err != nil {
		t.Fatal(err)
	}
	secret := strings.TrimSpace(text)
	file, err := tokens.Open(tokens.Path(dir))
	if err != nil {
		t.Fatal(err)
	}
	token, err := file.Check(tokens.Secret(secret))
	if err != nil || token.Tenant != "acme" {
		t.Fatalf("%q: got %+v, %v, want a token of acme", secret, token, err)
	}
	if text, err = command(t, "token", "list", "--data-dir", dir); err != nil || !strings.Contains(text, token.ID) || strings.Contains(text, secret) {
		t.Errorf("list: got %v\n%s", err, text)
	}
	if text, err = command(t, "token", "list", "--json", "--tenant", "other", "--data-dir", dir); err != nil || text != "[]\n" {
		t.Errorf("list of another tenant: got %v %s", err, text)
	}
	if _, err = command(t, "token", "revoke", "--data-dir", dir, "--tenant", "other", token.ID); err == nil {
		t.Error("another tenant revoked it")
	}
	if _, err = command(t, "token", "revoke", "--data-dir", dir, token.ID); err != nil {
		t.Error(err)
	}
	if _, err := file.Check(tokens.Secret(secret)); err == nil {
		t.Error("it still counts")
	}
	var made shownToken
	text, err = command(t, "token", "create", "--json", "--data-dir", dir)
	if err != nil || json.Unmarshal([]byte(text), &made) != nil || made.Tenant != "default" || made.Token == "" {
		t.Errorf("got %v %s", err, text)
	}
}
