package runtree

import (
	"encoding/json"
	"testing"
)

func TestDetail(t *testing.T) {
	tests := []struct{ name, args, want string }{
		{"Command", `{"description":"d","command":"go  test\n./..."}`, "go test ./..."},
		{"Outside", `{"file_path":"/etc/hosts"}`, "/etc/hosts"},
		{"Nothing", `{}`, ""},
		{"Others", `{"todos":[1,2],"n":3,"deep":{"a":1},"s":"x"}`, `deep{…} n=3 s="x" todos[2]`},
		{"NotAnObject", `["a"]`, `["a"]`},
		{"NotAString", `{"command":7}`, `command=7`},
		{"Absent", ``, ``},
		{"Null", `null`, ``},
		{"NullAndText", `{"command":null,"cmd":"ls"}`, `ls`},
		{"Twice", `{"n":1,"n":2}`, `n=2`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := detail(json.RawMessage(tt.args)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
