package architecture

// What is built where. A package imports lower floors only.
const (
	services = 5 // commands' packages; they never import each other
	house    = 6 // all services in one process
	mains    = 7
	examples = 8 // what users write, with public packages; their tests run a server
	tests    = 9 // imported by tests alone
)

// floors places every package of the module.
var floors = map[string]int{
	"pkg/events":                       0,
	"pkg/redact":                       1,
	"pkg/hooks":                        1,
	"pkg/hooks/policy/shell":           1,
	"internal/subjects":                1,
	"internal/platform/cli":            1,
	"internal/platform/filelock":       1,
	"internal/platform/atomicfile":     1,
	"internal/evidence/transparency":   1,
	"internal/tracking/deferred":       1,
	"internal/capture/tokens":          2,
	"internal/capture/ingest/otlp":     3,
	"internal/capture/ingest/cehttp":   3,
	"pkg/hooks/policy":                 2,
	"pkg/hooks/provider":               3,
	"internal/stream/broker":           2,
	"internal/stream/projection":       2,
	"internal/capture/ingest":          2,
	"internal/evidence/runtree":        2,
	"internal/capture/agents":          3,
	"internal/capture/install":         3,
	"internal/platform/sqlitetx":       1,
	"internal/evidence/ledger":         2,
	"internal/evidence/anchor/bucket":  2,
	"internal/evidence/anchor/witness": 2,
	"internal/evidence/agentfs":        2,
	"internal/tracking/rules":          2,
	"pkg/hooks/wire":                 2,
	"pkg/hooks/hookfile/internal/openai":                  2,
	"pkg/hooks/hookfile/internal/anthropic":               2,
	"pkg/publish":                      3,
	"internal/stream/consume":          3,
	"pkg/hooks/hookfile":              3,
	"internal/capture/decision":        3,
	"internal/evidence/bundle":         4,
	"internal/evidence/anchor":         4,
	"internal/evidence/tiles":          4,
	"internal/tracking/beads":          3,
	"internal/tracking/store":          3,
	"internal/tracking/replay":         4,
	"internal/capture/hookcommand":     4,

	"internal/capture/ingest/claude":     3,
	"internal/capture/ingest/codex":      3,
	"internal/capture/ingest/gemini":     3,
	"internal/capture/ingest/openhands":  3,
	"internal/capture/ingest/sweagent":   3,
	"internal/capture/ingest/amplifier":  3,
	"internal/capture/ingest/ingesttest": tests,

	// On one floor, so that neither can import the other: who judges a ledger has
	// no part in what was written.
	"internal/evidence/ledger/writer":   3,
	"internal/evidence/ledger/verifier": 3,

	"internal/evidence/ledger/ledgertest":          tests,
	"internal/capture/hookcommand/hookcommandtest": tests,
	"internal/tracking/rules/rulestest":            tests,

	"internal/capture/publisher":                   services,
	"internal/evidence/auditor":                    services,
	"internal/tracking/tracker":                    services,
	"internal/metrics":                             services,
	"internal/web":                                 services,
	"internal/command/hooktrail":                           house,
	"cmd/hooktrail":                                mains,
	"cmd/publisher":                                mains,
	"cmd/auditor":                                  mains,
	"cmd/tracker":                                  mains,
	"cmd/metrics":                                  mains,
	"examples/orchestrator":                        examples,
	"examples/squad":                               examples,
	"examples/amplifier":                           examples,
	"examples/pipeline":                            examples,
	"examples/messages":                            examples,
	"examples/registry":                            examples,
	"internal/testkit/natstest":                            tests,
	"internal/testkit/nodetest":                            tests,
	"internal/testkit/pythontest":                          tests,
	"internal/testkit/realdata":                            tests,
	"internal/evidence/anchor/witness/witnesstest": tests,
	"internal/testkit/e2e":                                 tests,
	"internal/testkit/gauntlet":                            tests,
	"internal/testkit/architecture":                              tests,
}

// exceptions are the imports of internal packages that pkg may have.
var exceptions = map[string]string{
	"pkg/publish": "internal/subjects",
}

// pure packages link these modules beyond the standard library, and no others,
// with everything that they import.
var pure = map[string][]string{
	"pkg/events": {"github.com/google/uuid"},
	"pkg/hooks":  {"github.com/google/uuid"},
}

// reserved modules are imported by these packages alone, tests included.
var reserved = map[string][]string{
	"github.com/nats-io/nats-server": {"internal/stream/broker", "internal/testkit/natstest", "internal/testkit/e2e"},
	"github.com/rs/zerolog":          {"internal/platform/cli"},
	"github.com/stretchr/testify":    {},
	"C":                              {},

	"github.com/zricethezav/gitleaks": {"pkg/redact"},
	"go.opentelemetry.io/collector":   {"internal/capture/ingest/otlp"},
	"github.com/parquet-go":           {"internal/evidence/bundle"},
}

// apart are imports that the floors would allow.
var apart = map[string]string{
	"pkg/publish": "pkg/redact", // who publishes chooses the redactor
}

// testOnly packages are not linked: what only tests compare with.
var testOnly = []string{
	"github.com/zricethezav/gitleaks/v8/detect",
	"github.com/zricethezav/gitleaks/v8/sources",
	"github.com/transparency-dev/tessera/api/layout",
	"github.com/transparency-dev/tessera/client",
	"github.com/transparency-dev/tessera/fsck",
	"github.com/transparency-dev/formats/log",
	"github.com/transparency-dev/formats/note",
	"github.com/transparency-dev/merkle/proof",
}

// vague names say nothing about what a package is for.
var vague = []string{
	"util", "utils", "common", "types", "helper", "helpers", "model", "models",
	"mock", "mocks", "misc", "base", "shared", "lib",
}

// maxLines is where a file has become two.
const maxLines = 400
