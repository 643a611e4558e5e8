package architecture

// public are the packages that users import.
var public = []string{"pkg/events", "pkg/redact", "pkg/hooks", "pkg/publish"}

// wings maps each wing to the wings that it may import. A wing is a folder with everything below it.
// docs/architecture.md draws the same arrows.
var wings = map[string][]string{
	"pkg/events":  {},
	"pkg/redact":  {"pkg/events"},
	"pkg/hooks":   {"pkg/events", "pkg/redact"},
	"pkg/publish": {"pkg/events", "internal/subjects"},

	"internal/subjects": {"pkg/events"},
	"internal/platform": {},
	"internal/stream":   {"pkg/events", "internal/subjects", "internal/platform"},

	"internal/capture":  append([]string{"internal/stream", "internal/subjects", "internal/platform"}, public...),
	"internal/evidence": {"internal/stream", "internal/subjects", "internal/platform", "pkg/events", "pkg/publish"},
	"internal/tracking": {"internal/stream", "internal/subjects", "internal/platform", "pkg/events", "pkg/publish", "pkg/redact"},
	"internal/metrics":  {"internal/stream", "internal/subjects", "internal/platform", "pkg/events"},

	"internal/app":     append([]string{"internal/capture", "internal/evidence", "internal/tracking", "internal/metrics", "internal/stream", "internal/subjects", "internal/platform"}, public...),
	"internal/command": append([]string{"internal/app", "internal/capture", "internal/evidence", "internal/tracking", "internal/metrics", "internal/stream", "internal/subjects", "internal/platform"}, public...),
	"cmd":              {"internal/command", "internal/platform"},
	"examples":         public,
	"internal/testkit": nil, // only for tests, so it may import every wing
}

// bridges are the only imports between wings of the same level.
var bridges = map[string]string{
	"internal/tracking/tracker": "internal/evidence/ledger", // erasure orders and key changes
	"internal/tracking/replay":  "internal/capture/ingest",  // events in a file
}

// services are separate processes and may not import each other.
var services = []string{"internal/capture/publisher", "internal/evidence/auditor", "internal/tracking/tracker", "internal/metrics"}

// apart are packages that may not import each other. The verifier must not share code with the
// writer that it judges.
var apart = [][2]string{
	{"internal/evidence/ledger/writer", "internal/evidence/ledger/verifier"},
}

// reserved modules may be imported only by these packages, also in tests.
var reserved = map[string][]string{
	"github.com/nats-io/nats-server": {"internal/stream/broker", "internal/testkit/natstest", "internal/testkit/e2e"},
	"github.com/rs/zerolog":          {"internal/platform/cli"},
	"github.com/stretchr/testify":    {},
	"C":                              {},

	"github.com/zricethezav/gitleaks": {"pkg/redact"},
	"go.opentelemetry.io/collector":   {"internal/capture/ingest/otlp"},
	"github.com/parquet-go":           {"internal/evidence/bundle"},
}

// frame is the package for flags, output and exit status of commands. Except for tests, only these
// wings import it, so that services stay free of cobra.
const frame = "internal/platform/cli"

var frameUsers = []string{"internal/platform", "internal/command", "cmd", "internal/testkit"}

// testOnly packages are for comparison in tests and never linked into a command.
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

// vague names do not say what a package is for.
var vague = []string{
	"util", "utils", "common", "types", "helper", "helpers", "model", "models",
	"mock", "mocks", "misc", "base", "shared", "lib",
}

const (
	maxLines     = 300 // of a file
	maxTestLines = 400 // of a file with tests
	maxMethods   = 25  // of a type
	maxFiles     = 25  // of a package whose doc.go does not list them
	maxEntries   = 10  // of internal/
)
