package hooktrail

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

// A run has no start if all its records are set apart.
func TestWriteRuns_SetApart(t *testing.T) {
	var out bytes.Buffer
	writeRuns(&out, []ledger.RunSummary{{Run: "rq"}}, 0)
	if text := out.String(); strings.Contains(text, "0001") || !strings.Contains(text, "records set apart") {
		t.Errorf("got %s", text)
	}
}
