package auditor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// verify gives no verdict about something that is no evidence. It says what it is and what to do.
func TestVerify_NoEvidence(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	empty, text, none := file("empty", ""), file("text", "hello"), filepath.Join(dir, "none")
	key := "hooktrail+19b89334+ATnyp2NREeyvSP2uzHGLY2w/n4UItKTkP7+2cVgPLsZp"
	for _, tt := range []struct {
		name       string
		args       []string
		what, todo string
	}{
		{"EmptyBundle", []string{"verify", empty}, "is an empty file", "auditor export"},
		{"FolderBundle", []string{"verify", dir}, "is a folder", "--data-dir " + dir},
		{"MissingBundle", []string{"verify", none}, "there is no file", "auditor export"},
		{"TextBundle", []string{"verify", text}, "is not a bundle", "auditor export"},
		{"EmptyLedger", []string{"verify", "--key", key, "--ledger", empty}, "is an empty file", "ledger.db"},
		{"FolderLedger", []string{"verify", "--key", key, "--ledger", dir}, "is a folder", "ledger.db"},
		{"MissingLedger", []string{"verify", "--ledger", none}, "there is no file", "ledger.db"},
		{"EmptyDataDir", []string{"verify", "--data-dir", dir}, "has no ledger", "auditor serve"},
		{"MissingDataDir", []string{"verify", "--data-dir", none, "--key", key}, "has no ledger", "auditor serve"},
		{"FileAsDataDir", []string{"verify", "--data-dir", empty}, "has no ledger", "auditor serve"},
		{"Export", []string{"export", "--data-dir", dir}, "has no ledger", "auditor serve"},
		{"Coverage", []string{"coverage", "--data-dir", dir}, "has no ledger", "auditor serve"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, out, errs := commandBoth(t, tt.args...)
			if status != 1 || out != "" || !strings.Contains(errs, tt.what) || !strings.Contains(errs, tt.todo) {
				t.Errorf("status %d, want 1 with %q and %q:\n%s%s", status, tt.what, tt.todo, out, errs)
			}
		})
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 2 {
		t.Errorf("the commands wrote something: %v, %v", list, err)
	}
}
