package e2e

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Commands that read work in a data directory to which their user may not write, or say in one
// sentence what to do. They write nothing.
//
//guarantee:read-only
func TestUsers_ReadOnlyDataDirectory(t *testing.T) {
	m := newMachine(t)
	t.Setenv("TMPDIR", filepath.Join(m.dir, "agent"))
	t.Setenv("HOOKTRAIL_KNOWN_LEDGERS", filepath.Join(m.dir, "agent", "known_ledgers"))
	demo := startProgram(t, m.program, m.agent, nil, "hooktrail", "demo", "--keep")
	if status := demo.status(t); status != 0 {
		t.Fatalf("demo: status %d, %s", status, demo.stderr.String())
	}
	found, err := filepath.Glob(filepath.Join(m.dir, "agent", "hooktrail-demo-*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("data directories: %v, %v", found, err)
	}
	data := found[0]
	before := files(t, data, true)
	defer files(t, data, false)
	ledger := filepath.Join(data, "ledger", "default", "ledger.db")
	key := filepath.Join(m.dir, "agent", "ledger.pub") // from elsewhere
	if out, err := shell(m.agent, "cp "+filepath.Join(data, "keys", "ledger.pub")+" "+key+" && cp "+ledger+" "+filepath.Join(m.dir, "agent", "copy.db")); err != nil {
		t.Fatal(out, err)
	}
	out, run := filepath.Join(m.dir, "agent", "out"), "5e6c1d2a-7b1f-4c55-9a64-0f6b3c2d9e71"
	const recorded = "run the command as a user who may write to "
	for _, tt := range []struct {
		args   string
		status int
		says   string
	}{
		{"auditor verify --key " + key, 0, "COMPLETE"},
		{"auditor verify --key " + key + " --run " + run, 0, "COMPLETE"},
		{"auditor key", 0, "hooktrail+"},
		{"auditor hold list", 0, ""},
		{"auditor issuer list", 0, "endorsed"},
		{"auditor agentfs list", 0, "claude-code"},
		{"auditor export --out " + out + ".zip", 1, recorded},
		{"auditor export --format tiles --out " + out, 1, recorded},
		{"auditor coverage", 1, recorded},
		{"auditor replay --run " + run, 1, recorded},
		{"auditor access", 1, recorded},
		{"auditor report", 1, recorded},
		{"auditor stream --once", 1, "--position"},
		{"auditor export --unsigned --out " + out + ".zip --key " + key + " --ledger " + filepath.Join(m.dir, "agent", "copy.db"), 0, ""},
		{"auditor coverage --key " + key + " --ledger " + filepath.Join(m.dir, "agent", "copy.db"), 0, "COMPLETE"},
		{"hooktrail run list", 0, run[:8]},
		{"hooktrail run show " + run, 0, run},
		{"hooktrail tenant list", 0, "TENANT"},
		{"tracker list", 0, "open"},
		{"publisher outbox status", 0, "import"},
		{"publisher token list", 0, "TENANT"},
	} {
		t.Run(strings.Join(strings.Fields(tt.args)[:2], ""), func(t *testing.T) {
			args := strings.Fields(tt.args)
			p := startProgram(t, m.program, m.agent, nil, args[0], append(args[1:], "--data-dir", data)...)
			status := p.status(t)
			if text := p.stdout.String() + p.stderr.String(); status != tt.status || !strings.Contains(text, tt.says) {
				t.Errorf("%s: status %d, want %d and %q:\n%s", tt.args, status, tt.status, tt.says, text)
			}
		})
	}
	tail := startProgram(t, m.program, m.agent, nil, "hooktrail", "run", "tail", "--lines", "2", "--data-dir", data)
	waitUntil(t, "run tail shows the past", func() bool { return strings.Count(tail.stdout.String(), "\n") >= 2 })
	tail.stopCleanly(t)
	if after := files(t, data, true); after != before {
		t.Errorf("the commands wrote to the data directory:\n%s\nbefore\n%s", after, before)
	}
}

// files lists the files below dir, and makes all of them read-only, or writable again.
func files(t *testing.T, dir string, readOnly bool) string {
	t.Helper()
	var list strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode := os.FileMode(0o700)
		if readOnly {
			mode = 0o500
		}
		list.WriteString(path + " " + info.ModTime().String() + "\n")
		return errors.Join(err, os.Chmod(path, mode))
	})
	if err != nil {
		t.Fatal(err)
	}
	return list.String()
}
