// Package costly has payloads whose content, and not their size, makes them costly to read. It
// counts allocations, because time depends on the machine.
package costly

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

const size = 200_000

// Payloads returns objects of about 200 KB by name. All begin with the members in first, such as
// `"tool":"Bash"`.
func Payloads(first string) map[string]string {
	list := func(part string) string { return strings.Repeat(part+",", size/(len(part)+1)) + part }
	var members, blobs strings.Builder
	for i := 0; members.Len() < size; i++ {
		fmt.Fprintf(&members, `,"%x":1`, i)
		fmt.Fprintf(&blobs, `,"%x":{}`, i)
	}
	bodies := map[string]string{
		"text":       `,"a":"` + strings.Repeat("x", size) + `"`,
		"escapes":    `,"a":"` + strings.Repeat(`\n`, size/2) + `"`,
		"members":    members.String(),
		"repeated":   strings.Repeat(`,"a":1`, size/6),
		"numbers":    `,"a":[` + list("1") + `]`,
		"texts":      `,"a":[` + list(`"\n"`) + `]`,
		"objects":    `,"a":[` + list("{}") + `]`,
		"executions": `,"executions":[` + list("{}") + `]`,
		"verdicts":   `,"executions":[{` + list(`"verdict":"ask"`) + `}]`,
		"args":       `,"args":{"z":1` + members.String() + `}`,
		"list":       `,"args":{"z":[` + list("1") + `]}`,
		"redacted":   `,"redacted":[` + list("{}") + `]`,
		"blobs":      `,"blobs":{"z":{}` + blobs.String() + `}`,
		"metadata":   `,"metadata":{"deferred":[` + list("{}") + `]}`,
		"files":      `,"files":[` + list(`""`) + `]`,
		"deep":       `,"a":` + strings.Repeat("[", 500) + list("1") + strings.Repeat("]", 500),
	}
	payloads := make(map[string]string, len(bodies))
	for name, body := range bodies {
		payloads[name] = "{" + first + body + "}"
	}
	return payloads
}

// Check calls read with each payload. It fails if read allocates more memory than factor times the
// payload, or more than one object per objectBytes bytes.
func Check(t *testing.T, first string, factor, objectBytes int, read func(name, payload string)) {
	t.Helper()
	for name, payload := range Payloads(first) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		read(name, payload)
		runtime.ReadMemStats(&after)
		memory, objects := int(after.TotalAlloc-before.TotalAlloc), int(after.Mallocs-before.Mallocs)
		t.Logf("%-10s %3d times the size, one object for %d bytes", name, memory/len(payload), len(payload)/max(objects, 1))
		if memory > factor*len(payload) || objects > len(payload)/objectBytes {
			t.Errorf("%s: %d bytes in %d objects for a payload of %d bytes", name, memory, objects, len(payload))
		}
	}
}
