package sweagent

import (
	"bytes"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
)

// Detect reports whether a file with this name and this beginning is a trajectory of SWE-agent.
func Detect(head []byte, name string) bool {
	named := strings.HasSuffix(name, ".traj") || strings.HasSuffix(name, ".traj.json")
	if first, list := ingest.FirstElement(head); list {
		return ingest.Has(ingest.Members(first), "role", "content") && (named || bytes.Contains(head, []byte("mswea_bash_command")))
	}
	members := ingest.Members(ingest.Opening(head))
	has := func(names ...string) bool { return ingest.Has(members, names...) }
	if named {
		return slices.ContainsFunc([]string{trajectory, history, attempts, "info"}, func(name string) bool { return has(name) })
	}
	switch {
	case has("trajectory_format"):
		return true
	case has("info", messages):
		return !strings.HasPrefix(ingest.Text(ingest.Members(members["info"])["id"]), "ses") // an export of OpenCode
	case has("info"):
		return bytes.Contains(members["info"], []byte(`"mini_version"`))
	}
	return has(trajectory) && (has("environment") || bytes.Contains(head, []byte(`"observation"`)))
}
