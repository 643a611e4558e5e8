package install

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Codex 0.169.0 reported these hashes in hooks/list.
func TestCodexHash(t *testing.T) {
	for event, want := range map[string]string{
		"PreToolUse": "607dde2d9d2b6b98343d68e8ce8c90874a50d948dcbcd9d8361fa4ddb87afd73",
		"Stop":       "8f9744df9e725037be73e605e060075fb2a4021ba2842656b8445c5476e8543d",
		"SessionEnd": "53eedc54758406a6db719088cf3a2bb8330a2e294bef568ee19e39464364467a",
	} {
		timeout := "10"
		if event == "SessionEnd" {
			timeout = "3"
		}
		doc, err := parse("hooks.json", []byte(`{"hooks":[{"type":"command", /* ours */ "timeout":`+timeout+`, "command":"publisher hook codex",}]}`))
		if err != nil {
			t.Fatal(err)
		}
		got, err := codexHashOf(event, doc.root, 0)
		if err != nil || got != "sha256:"+want {
			t.Errorf("%s: got %s, %v, want %s", event, got, err, want)
		}
	}
}

func planTrust(t *testing.T, tool string, opts Options) *Change {
	t.Helper()
	c, err := Plan(tool, opts)
	if err != nil {
		t.Fatal(err)
	}
	list, err := PlanTrust(c, opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range append([]*Change{c}, list...) {
		if err := change.Apply(); err != nil {
			t.Fatal(err)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// Trust in hooks is written once, follows a changed command, and ends with the hooks. The
// other settings stay.
//
//guarantee:install-trust
func TestPlanTrust_Codex(t *testing.T) {
	const before = "model = \"m\" # mine\nnotes = '''\n[hooks]\nstate = 1\n'''\n\n[projects.\"/other\"]\ntrust_level = \"untrusted\"\n\n[hooks.state.\"/x:stop:0:0\"]\ntrusted_hash = \"sha256:1\"\n"
	opts := options(t)
	config := filepath.Join(opts.Home, ".codex", "config.toml")
	write(t, config, before)
	write(t, fileOf(t, "codex", opts), `{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"./mine"}]}]}}`)
	folder, err := filepath.EvalSymlinks(opts.Project)
	if err != nil {
		t.Fatal(err)
	}
	if c := planTrust(t, "codex", opts); c.Action() != Updated {
		t.Errorf("got %s", c.Action())
	}
	text := read(t, config)
	for _, want := range []string{
		before, `[projects."` + folder + `"]` + "\n" + `trust_level = "trusted"`,
		`/.codex/hooks.json:stop:1:0"]`, `/.codex/hooks.json:pre_tool_use:0:0"]`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if c := planTrust(t, "codex", opts); c.Action() != Unchanged {
		t.Errorf("again: %s\n%s", c.Action(), c.Diff())
	}
	opts.Flags = "--fail-closed"
	if c := planTrust(t, "codex", opts); c.Action() != Updated || strings.Count(read(t, config), "trusted_hash") != strings.Count(text, "trusted_hash") {
		t.Errorf("new flags: %s\n%s", c.Action(), read(t, config))
	}
	opts.Uninstall = true
	planTrust(t, "codex", opts)
	want := before + "[projects.\"" + folder + "\"]\ntrust_level = \"trusted\"\n"
	if diff := cmp.Diff(want, read(t, config)); diff != "" {
		t.Errorf("after uninstalling (-want +got):\n%s", diff)
	}
}

// Uninstalling removes only files and folders that installing created.
func TestPlanTrust_CodexNeverTrusted(t *testing.T) {
	opts := options(t)
	apply(t, "codex", opts)
	opts.Uninstall = true
	c, err := Plan("codex", opts)
	if err != nil {
		t.Fatal(err)
	}
	trust, err := PlanTrust(c, opts)
	if err != nil || len(trust) != 1 || trust[0].Action() != Unchanged || trust[0].Diff() != "" {
		t.Errorf("got %v, %v", trust, err)
	}
	for _, c := range append(trust, c) {
		if err := c.Apply(); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{opts.Home, opts.Project} {
		if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
			t.Errorf("left %v, %v", left, err)
		}
	}
}

//guarantee:install-trust
func TestPlanTrust_Folder(t *testing.T) {
	for tool, tt := range map[string]struct{ file, before, want string }{
		"copilot-cli": {".copilot/config.json", "// mine\n{\"trustedFolders\": [\"/a\"]}\n", "// mine\n{\"trustedFolders\": [\"/a\", \"PROJECT\"]}\n"},
		"gemini-cli":  {".gemini/trustedFolders.json", "", "{\n  \"PROJECT\": \"TRUST_FOLDER\"\n}\n"},
	} {
		opts := options(t)
		file := filepath.Join(opts.Home, filepath.FromSlash(tt.file))
		if tt.before != "" {
			write(t, file, tt.before)
		}
		folder, err := filepath.EvalSymlinks(opts.Project)
		if err != nil {
			t.Fatal(err)
		}
		planTrust(t, tool, opts)
		if diff := cmp.Diff(strings.ReplaceAll(tt.want, "PROJECT", folder), read(t, file)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tool, diff)
		}
		if c := planTrust(t, tool, opts); c.Action() != Unchanged {
			t.Errorf("%s again: %s", tool, c.Action())
		}
		opts.Project = ""
		if c := planTrust(t, tool, opts); c != nil {
			t.Errorf("%s: the user's hooks need no trust, got %s", tool, c.Diff())
		}
	}
}

// The status says that Claude Code asks about the folder of a project, and that the user's own hooks
// need no trust.
//
//guarantee:install-trust
func TestStatus_AsksForFolder(t *testing.T) {
	claude, err := named("claude-code")
	if err != nil {
		t.Fatal(err)
	}
	opts := options(t)
	for _, want := range []TrustState{TrustAsked, TrustNotNeeded} {
		c, err := Plan("claude-code", opts)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := claude.trustState(c, opts); got != want {
			t.Errorf("project %q: got %q, want %q", opts.Project, got, want)
		}
		opts.Project = ""
	}
}

// A file that a person must edit, or in which a person refused trust, stays as it is.
//
//guarantee:install-trust
func TestPlanTrust_Refuses(t *testing.T) {
	opts := options(t)
	folder, err := filepath.EvalSymlinks(opts.Project)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ tool, file, text, want string }{
		{"codex", ".codex/config.toml", "hooks = {}\n", "only a person should edit"},
		{"codex", ".codex/config.toml", "[hooks]\nstate = {}\n", "only a person should edit"},
		{"codex", ".codex/config.toml", "projects.\"" + folder + "\".trust_level = \"untrusted\"\n", "only a person should edit"},
		{"codex", ".codex/config.toml", "# \"\"\"\n[projects.\"" + folder + "\"]\ntrust_level = \"untrusted\"\n# \"\"\"\n", "marked as not trusted"},
		{"codex", ".codex/config.toml", "a = [\n[1]\n]\nhooks = {}\n", "only a person should edit"},
		{"codex", ".codex/config.toml", "a = '''\n", "config.toml:1:8: toml: multiline literal string not terminated"},
		{"codex", ".codex/config.toml", "[projects.\"" + folder + "\"]\ntrust_level = \"untrusted\"\n", "marked as not trusted"},
		{"gemini-cli", ".gemini/trustedFolders.json", `{"` + folder + `": "DO_NOT_TRUST"}`, "marked as not trusted"},
		{"copilot-cli", ".copilot/config.json", `{"trustedFolders": 1}`, "a list is expected here"},
		{"copilot-cli", ".copilot/config.json", `[]`, "an object is expected here"},
	} {
		file := filepath.Join(opts.Home, filepath.FromSlash(tt.file))
		write(t, file, tt.text)
		c, err := Plan(tt.tool, opts)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = PlanTrust(c, opts); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.text, err, tt.want)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
}

// FuzzTOML sets a value in any file. Either the file is refused, or the value is there for the TOML
// library too, the other values and lines stay, and removing the value restores them.
func FuzzTOML(f *testing.F) {
	for _, s := range []string{"", "a = 1", "[a]\nb = '''\n[t]\n'''\n", "[t]\n# c\nk = 1\n", "[t]\n", "[hooks.state]\n", "[[t]]\nk = 1", "# \"\"\"\n[t]\n# \"\"\"\n", "t.k = 1", "a = [\n[1]\n]\n[t]\nk = 1", "\"\"\"\n", "0,", "\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := readTOML(text)
		if err != nil {
			return
		}
		old, _ := file.get("[t]", "k")
		after, err := file.set("[t]", "k", `"v"`)
		if errors.Is(err, errLayout) {
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if got, _ := after.get("[t]", "k"); got != `"v"` {
			t.Fatalf("%q: got %q in %q", text, got, after)
		}
		values, err := meaning(after.String())
		if table, ok := values["t"].(map[string]any); err != nil || !ok || table["k"] != "v" {
			t.Fatalf("%q: %v in %q", text, values, after)
		}
		if old != "" || file.find("[t]") != nil {
			return
		}
		back, err := after.remove("[t]", "k")
		if err != nil || back.String() != file.String() {
			t.Fatalf("%q: got %q, %v", file, back, err)
		}
	})
}
