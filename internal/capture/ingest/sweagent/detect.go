package sweagent

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
)

// Detect reports whether an input with this head and file name is a trajectory.
func Detect(head []byte, name string) bool {
	named := strings.HasSuffix(name, ".traj") || strings.HasSuffix(name, ".traj.json")
	if first, list := ingest.FirstElement(head); list {
		return has(ingest.Members(first), "role", "content") && (named || bytes.Contains(head, []byte("mswea_bash_command")))
	}
	members := ingest.Members(ingest.Opening(head))
	if named {
		return slices.ContainsFunc([]string{trajectory, history, attempts, "info"}, func(name string) bool { return has(members, name) })
	}
	switch {
	case has(members, "trajectory_format"), has(members, "info", messages):
		return true
	case has(members, "info"):
		return bytes.Contains(members["info"], []byte(`"mini_version"`))
	}
	return has(members, trajectory) && (has(members, "environment") || bytes.Contains(head, []byte(`"observation"`)))
}

func has(members map[string]json.RawMessage, names ...string) bool {
	for _, name := range names {
		if _, ok := members[name]; !ok {
			return false
		}
	}
	return true
}
