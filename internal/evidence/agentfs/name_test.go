package agentfs

import (
	"regexp"
	"strings"
	"testing"
)

//guarantee:id-hostile
//guarantee:agentfs-names
func TestFileName(t *testing.T) {
	for _, tt := range []struct{ agent, tenant, want string }{
		{"claude-code", "default", "claude-code__default.db"},
		{"team/coder", "acme.com", "team_x2Fcoder__acme_x2Ecom.db"},
		{"my_agent", "_", "my_agent___x5F.db"},
		{"a_", "b", "a_x5F__b.db"},
		{"a", "_b", "a___x5Fb.db"},
		{"a_x2F", "b", "a_x5Fx2F_xu10__b.db"},
		{"a/", "b", "a_x2F__b.db"},
		{"a_/", "b", "a_x5F_x2F__b.db"},
		{"", "b", "_xx__b.db"},
		{"Explore", "b", "Explore_xu1__b.db"},
		{"a_X2F", "b", "a_x5FX2F_xu14__b.db"},
		{"aA", "B", "aA_xu2__B_xu1.db"},
		{strings.Repeat("a", 113), "b", strings.Repeat("a", 77) + "_xx8a5f4cf6dd6ea4f3d5c1b2a0e1c0d9f8__b.db"},
	} {
		got := FileName(tt.agent, tt.tenant)
		if len(tt.agent) > 100 {
			got, tt.want = got[:80], tt.want[:80]
		}
		if got != tt.want {
			t.Errorf("FileName(%q, %q): got %s, want %s", tt.agent, tt.tenant, got, tt.want)
		}
	}
}

var validName = regexp.MustCompile(`^[A-Za-z0-9_-]+\.db$`)

func FuzzFileName(f *testing.F) {
	f.Add("claude-code", "default", "claude", "code__default")
	f.Add("a_", "b", "a", "_b")
	f.Add("a_x2F", "b", "a/", "b")
	f.Add("a__x2F", "t", "a", "x2F__t")
	f.Add("Coder", "t", "coder", "t")
	f.Add("a_X2F", "t", "a/", "t")
	f.Add("A"+strings.Repeat("a", 120), "t", "a"+strings.Repeat("a", 120), "t")
	f.Add(strings.Repeat("é", 128), "t", strings.Repeat("é", 127), "t")
	f.Fuzz(func(t *testing.T, agent, tenant, agent2, tenant2 string) {
		name, other := FileName(agent, tenant), FileName(agent2, tenant2)
		if !validName.MatchString(name) || len(partName(baseName(agent, tenant), 1<<30)) > 250 {
			t.Errorf("FileName(%q, %q): %s cannot be the name of a file", agent, tenant, name)
		}
		if same := agent == agent2 && tenant == tenant2; same != strings.EqualFold(name, other) {
			t.Errorf("(%q, %q) and (%q, %q) are both %s", agent, tenant, agent2, tenant2, name)
		}
		second := partName(baseName(agent, tenant), 2)
		if strings.EqualFold(second, name) || strings.EqualFold(second, other) {
			t.Errorf("part 2 of (%q, %q) is %s, another file", agent, tenant, second)
		}
		n, n2 := parseName(name), parseName(second)
		if n.part != 1 || n2.part != 2 || n.base != n2.base || n.agent != escapeID(agent) || n.tenant != escapeID(tenant) {
			t.Errorf("(%q, %q): %s and %s read as %+v and %+v", agent, tenant, name, second, n, n2)
		}
		if got := unescapeID(n.agent); got != agent && !strings.HasSuffix(got, "…") {
			t.Errorf("%s: got agent %q, want %q", name, got, agent)
		}
	})
}

func FuzzKeyPart(f *testing.F) {
	f.Add("run:1", "a", "run", "1:a")
	f.Add("%3A", "", ":", "")
	f.Fuzz(func(t *testing.T, run, step, run2, step2 string) {
		run, step, run2, step2 = text(run), text(step), text(run2), text(step2) // events change ids in the same way
		same := run == run2 && step == step2
		if got := rowKey("step", run, step) == rowKey("step", run2, step2); got != same {
			t.Errorf("(%q, %q) and (%q, %q): got the same key %v, want %v", run, step, run2, step2, got, same)
		}
	})
}
