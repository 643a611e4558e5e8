package claude

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func apiFailure(message string, class json.RawMessage) *events.Failure {
	known := ingest.FailureClass(ingest.Text(class) + " " + message)
	return &events.Failure{Message: ingest.Clip(message, ingest.MaxMessage), Class: cmp.Or(known, "api_error")}
}

func exitCode(content json.RawMessage) *int {
	first, _, _ := strings.Cut(ingest.Flatten(content), "\n")
	digits, ok := strings.CutPrefix(first, "Exit code ")
	if code, err := strconv.Atoi(digits); ok && err == nil {
		return &code
	}
	return nil
}
