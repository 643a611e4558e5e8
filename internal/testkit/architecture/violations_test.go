package architecture

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// Each rule can fail.
func TestCheck(t *testing.T) {
	imports := func(name string, paths ...string) string {
		var b strings.Builder
		b.WriteString("package " + name + "\n")
		for _, p := range paths {
			b.WriteString("import _ \"" + p + "\"\n")
		}
		return b.String()
	}
	const ours = module + "/"
	tests := []struct {
		name string
		tree map[string]string
		want []string
	}{
		{
			name: "Clean",
			tree: map[string]string{
				"internal/stream/consume/run.go":          imports("consume", "fmt", ours+"internal/stream/broker", ours+"pkg/events"),
				"internal/stream/consume/run_test.go":     imports("consume", ours+"internal/testkit/natstest", ours+"pkg/publish"),
				"internal/stream/consume/testdata/bad.go": "no go at all",
				"cmd/auditor/main.go":                     imports("main", ours+"internal/platform/cli", ours+"internal/command/auditor"),
				"internal/testkit/natstest/start.go":      imports("natstest", "github.com/nats-io/nats-server/v2/server", ours+"internal/stream/broker"),
				"internal/testkit/e2e/kill_test.go":       imports("e2e", ours+"internal/evidence/auditor", ours+"internal/capture/publisher"),
				"pkg/publish/open.go":                     imports("publish", ours+"internal/subjects", "github.com/nats-io/nats.go"),
			},
		},
		{
			name: "HigherWing",
			tree: map[string]string{"internal/subjects/a.go": imports("subjects", ours+"internal/stream/broker")},
			want: []string{"internal/subjects/a.go: imports internal/stream/broker: internal/subjects may not import internal/stream"},
		},
		{
			name: "WingNextToIt",
			tree: map[string]string{
				"internal/evidence/ledger/a.go":  imports("ledger", ours+"internal/capture/agents"),
				"internal/tracking/replay/a.go":  imports("replay", ours+"internal/capture/ingest"), // a bridge
				"internal/tracking/tracker/a.go": imports("tracker", ours+"internal/capture/ingest"),
			},
			want: []string{
				"internal/evidence/ledger/a.go: imports internal/capture/agents: internal/evidence may not import internal/capture",
				"internal/tracking/tracker/a.go: imports internal/capture/ingest: internal/tracking may not import internal/capture",
			},
		},
		{
			name: "ServiceImportsService",
			tree: map[string]string{"internal/tracking/tracker/a.go": imports("tracker", ours+"internal/evidence/auditor")},
			want: []string{"internal/tracking/tracker/a.go: imports internal/evidence/auditor: services never import each other"},
		},
		{
			name: "ServiceTestsService",
			tree: map[string]string{"internal/tracking/tracker/a_test.go": imports("tracker", ours+"internal/evidence/auditor")},
			want: []string{"internal/tracking/tracker/a_test.go: imports internal/evidence/auditor: only app, command and testkit test services together"},
		},
		{
			name: "ExampleImportsInternal",
			tree: map[string]string{
				"examples/squad/a.go":      imports("squad", ours+"pkg/hooks", ours+"internal/stream/broker"),
				"examples/squad/a_test.go": imports("squad", ours+"internal/stream/broker"),
			},
			want: []string{
				"examples/squad/a.go: imports internal/stream/broker: examples may not import internal/stream",
				"examples/squad/a_test.go: imports internal/stream/broker: users cannot import internal packages",
			},
		},
		{
			name: "PkgImportsInternal",
			tree: map[string]string{
				"pkg/publish/a.go": imports("publish", ours+"internal/stream/broker"),
				"pkg/hooks/a.go":   imports("hooks", ours+"internal/subjects"),
			},
			want: []string{
				"pkg/hooks/a.go: imports internal/subjects: pkg/hooks may not import internal/subjects",
				"pkg/publish/a.go: imports internal/stream/broker: pkg/publish may not import internal/stream",
			},
		},
		{
			name: "InternalTypeInPublicAPI",
			tree: map[string]string{"pkg/publish/a.go": `package publish
				import "` + ours + `internal/subjects"
				type Options struct { Space subjects.Space; hidden subjects.Space }
				func Open(s subjects.Space) {}
				func open(s subjects.Space) {}
				func Close() { _ = subjects.Space{} }`},
			want: []string{
				"pkg/publish/a.go: exports subjects.Space, a name of an internal package",
				"pkg/publish/a.go: exports subjects.Space, a name of an internal package",
			},
		},
		{
			name: "ServerOutsideBroker",
			tree: map[string]string{"internal/tracking/tracker/a_test.go": imports("tracker", "github.com/nats-io/nats-server/v2/server")},
			want: []string{"internal/tracking/tracker/a_test.go: imports github.com/nats-io/nats-server/v2/server, which is reserved for [internal/stream/broker internal/testkit/natstest internal/testkit/e2e]"},
		},
		{
			name: "LoggingOutsideCLI",
			tree: map[string]string{"internal/evidence/auditor/a.go": imports("auditor", "github.com/rs/zerolog")},
			want: []string{"internal/evidence/auditor/a.go: imports github.com/rs/zerolog, which is reserved for [internal/platform/cli]"},
		},
		{
			name: "FrameInService",
			tree: map[string]string{
				"internal/evidence/auditor/a.go":      imports("auditor", ours+"internal/platform/cli", ours+"internal/platform/termtext"),
				"internal/evidence/auditor/a_test.go": imports("auditor", ours+"internal/platform/cli"),
				"internal/command/auditor/a.go":       imports("auditor", ours+"internal/platform/cli"),
			},
			want: []string{"internal/evidence/auditor/a.go: imports internal/platform/cli: only commands import cli"},
		},
		{
			name: "OracleInCode",
			tree: map[string]string{
				"pkg/redact/a.go":      imports("redact", "github.com/zricethezav/gitleaks/v8/detect"),
				"pkg/redact/a_test.go": imports("redact", "github.com/zricethezav/gitleaks/v8/detect"),
				"pkg/events/a_test.go": imports("events", "github.com/zricethezav/gitleaks/v8/config"),
			},
			want: []string{
				"pkg/events/a_test.go: imports github.com/zricethezav/gitleaks/v8/config, which is reserved for [pkg/redact]",
				"pkg/redact/a.go: imports github.com/zricethezav/gitleaks/v8/detect, which is for tests only",
			},
		},
		{
			name: "KeptApart",
			tree: map[string]string{"pkg/publish/a.go": imports("publish", ours+"pkg/redact")},
			want: []string{"pkg/publish/a.go: imports pkg/redact: pkg/publish may not import pkg/redact"},
		},
		{
			name: "CGO",
			tree: map[string]string{"internal/evidence/ledger/a.go": imports("ledger", "C")},
			want: []string{"internal/evidence/ledger/a.go: imports C, which is reserved for []"},
		},
		{
			name: "TestPackageInCode",
			tree: map[string]string{"internal/evidence/auditor/a.go": imports("auditor", ours+"internal/testkit/natstest")},
			want: []string{"internal/evidence/auditor/a.go: imports internal/testkit/natstest: for tests only"},
		},
		{
			name: "FatMain",
			tree: map[string]string{"cmd/auditor/main.go": imports("main", ours+"internal/platform/cli", ours+"internal/evidence/ledger")},
			want: []string{"cmd/auditor/main.go: imports internal/evidence/ledger: a main imports cli and its own command"},
		},
		{
			name: "VerifierUsesTheWriter",
			tree: map[string]string{"internal/evidence/ledger/verifier/a.go": imports("verifier", ours+"internal/evidence/ledger/writer")},
			want: []string{"internal/evidence/ledger/verifier/a.go: imports internal/evidence/ledger/writer: these packages stay apart"},
		},
		{
			name: "NoWing",
			tree: map[string]string{"internal/attic/a.go": "package attic\n"},
			want: []string{"internal/attic: the package is in no wing"},
		},
		{
			name: "VagueName",
			tree: map[string]string{"internal/utils/a.go": "package utils\n"},
			want: []string{
				"internal/utils: the package is in no wing",
				"internal/utils: utils is a vague name for a package",
			},
		},
		{
			name: "GiantType",
			tree: map[string]string{"pkg/events/a.go": "package events\n" + strings.Repeat("func (g *giant[T]) m() {}\n", maxMethods+1)},
			want: []string{"pkg/events.giant: 26 methods, the limit is 25"},
		},
		{
			name: "ManyFiles",
			tree: manyFiles("pkg/events"),
			want: []string{"pkg/events: 26 files, and doc.go has no section # Files that says why and lists them"},
		},
		{
			name: "LongFile",
			tree: map[string]string{"pkg/events/a.go": "package events\n" + strings.Repeat("\n", maxLines)},
			want: []string{"pkg/events/a.go: 301 lines, the limit is 300"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := fstest.MapFS{"pkg/hooks/hook.go": {Data: []byte(imports("hooks", ours+"pkg/events"))}}
			for name, src := range tt.tree {
				root[name] = &fstest.MapFile{Data: []byte(src)}
			}
			got, err := check(root)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("check (-want +got):\n%s", diff)
			}
		})
	}
}

func manyFiles(dir string) map[string]string {
	all := make(map[string]string)
	for i := range maxFiles + 1 {
		all[fmt.Sprintf("%s/f%d.go", dir, i)] = "package events\n"
	}
	return all
}
