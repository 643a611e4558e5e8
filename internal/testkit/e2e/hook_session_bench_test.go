package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/internal/testkit/agents"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

const (
	sessionCalls = 10
	sessionRuns  = 7
)

// BenchmarkHookSession measures a session of Claude Code with ten calls of its shell, from start to
// exit. It compares sessions with our hooks, with and without a publisher, and with /bin/true in
// their place, with a session without hooks. The goal with our hooks is 1.35.
func BenchmarkHookSession(b *testing.B) {
	modules := agents.Install(b)
	turns := make([]agents.Turn, sessionCalls)
	for i := range turns {
		turns[i].Command = "touch file" + string(rune('0'+i))
	}
	turns[0].Command = "touch denied"
	variants := []struct {
		name    string
		prepare func(at *agentTest)
	}{
		{"none", func(*agentTest) {}},
		{"true", func(at *agentTest) { at.install(b); replaceHooks(b, at, "/bin/true") }},
		{"decided", func(at *agentTest) { at.install(b); at.serve(b) }},
		{"down", func(at *agentTest) { at.install(b) }},
	}
	boxes := map[string]*agentTest{}
	for _, v := range variants {
		at := newAgentTest(b, &agents.All[0], modules, b.TempDir(), "", turns...)
		v.prepare(at)
		boxes[v.name] = at
	}
	took := map[string][]float64{}
	for b.Loop() {
		for range sessionRuns {
			for _, v := range variants {
				s := boxes[v.name].Run(b)
				if s.Status != 0 || !strings.Contains(s.Output, agents.LastWord) {
					b.Fatalf("%s: the agent ended with status %d:\n%s", v.name, s.Status, s.Output)
				}
				if at := boxes[v.name]; at.Has("denied") != (v.name != "decided") {
					b.Fatalf("%s: the publisher did not decide as it should; output:\n%s", v.name, s.Output)
				}
				took[v.name] = append(took[v.name], float64(s.Took)/float64(time.Millisecond))
			}
		}
	}
	if s, err := publish.Inspect(hookclient.SharedOutbox(boxes["down"].data)); s.Waiting < uint64(2*len(took["down"])*sessionCalls) {
		b.Errorf("without a publisher the hooks recorded %d events, %v", s.Waiting, err)
	}
	for _, v := range variants {
		slices.Sort(took[v.name])
		at := func(share float64) float64 { return took[v.name][int(share*float64(len(took[v.name])-1))] }
		none := took["none"][(len(took["none"])-1)/2]
		b.ReportMetric(at(0.5)/none, v.name+"/none")
		b.Logf("%-8s median %.0f ms, 10%% %.0f ms, 90%% %.0f ms, %.2f times as long as without hooks", v.name, at(0.5), at(0.1), at(0.9), at(0.5)/none)
	}
	b.ReportMetric(0, "ns/op")
}

// replaceHooks makes the agent run another command at each hook.
func replaceHooks(b *testing.B, at *agentTest, command string) {
	b.Helper()
	file := filepath.Join(at.Project, ".claude", "settings.json")
	text, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	var settings any
	if err := json.Unmarshal(text, &settings); err != nil {
		b.Fatal(err)
	}
	var replace func(v any)
	replace = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				replace(e)
			}
		case map[string]any:
			if _, ok := v["command"]; ok {
				v["command"] = command
			}
			for _, e := range v {
				replace(e)
			}
		}
	}
	replace(settings)
	out, err := json.Marshal(settings)
	if err == nil {
		err = os.WriteFile(file, out, 0o600)
	}
	if err != nil || !bytes.Contains(out, []byte(command)) {
		b.Fatalf("replace the hooks: %v\n%s", err, out)
	}
}
