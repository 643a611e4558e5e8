package install

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzPlan installs into any file. Either the file is refused with line and column, or
// each event has the hook once, installing again changes nothing, and uninstalling
// restores the text except for empty lists and objects.
func FuzzPlan(f *testing.F) {
	for _, s := range settings {
		f.Add([]byte(s))
	}
	for _, s := range []string{`{}`, ``, `{"hooks":{"PreToolUse":[]}}`, `{"hooks":{"Stop":[{"hooks":[{"command":"publisher hook claude-code"}]}]}}`, "{ // a\n}"} {
		f.Add([]byte(s))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, before []byte) {
		opts := Options{Project: dir, Program: "publisher"}
		file := filepath.Join(dir, ".claude", "settings.json")
		write(t, file, string(before))
		c, err := Plan("claude-code", opts)
		if err != nil {
			if !strings.HasPrefix(err.Error(), file+":") {
				t.Fatalf("no place: %v", err)
			}
			return
		}
		if err := c.Apply(); err != nil {
			t.Fatal(err)
		}
		after := read(t, file)
		checkInstalled(t, "claude-code", file, after)
		if again, err := Plan("claude-code", opts); err != nil || again.Action() != Unchanged {
			t.Fatalf("again: %v, %v", again.Action(), err)
		}
		opts.Uninstall = true
		out, err := Plan("claude-code", opts)
		if err != nil {
			t.Fatalf("uninstall: %v", err)
		}
		if err := out.Apply(); err != nil {
			t.Fatal(err)
		}
		rest, err := os.ReadFile(file)
		if err != nil {
			rest = nil // the file contained only our hooks
		}
		if oursIn(before) || empties(before) {
			return
		}
		if !bytes.Equal(bytes.TrimSpace(before), bytes.TrimSpace(rest)) && (len(rest) > 0 || !blank(before)) {
			t.Fatalf("uninstalled:\n%q\nwas\n%q\nwith\n%q", rest, before, after)
		}
	})
}

// oursIn reports whether a text may contain one of our hooks.
func oursIn(text []byte) bool { return bytes.Contains(text, []byte("hook claude-code")) }

func empties(text []byte) bool {
	for _, pair := range []string{"{}", "[]"} {
		squeezed := bytes.Map(func(r rune) rune {
			if strings.ContainsRune(" \t\r\n", r) {
				return -1
			}
			return r
		}, text)
		if bytes.Contains(squeezed, []byte(pair)) {
			return true
		}
	}
	return false
}

func blank(text []byte) bool {
	return strings.Trim(string(bytes.TrimPrefix(text, byteOrderMark)), " \t\r\n{}") == ""
}
