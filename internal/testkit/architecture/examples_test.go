package architecture

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Each example compiles in a user's module.
func TestExamples_CompileOutside(t *testing.T) {
	examples, err := os.ReadDir(filepath.Join(root, "examples"))
	if err != nil || len(examples) == 0 {
		t.Fatalf("got %d examples, %v", len(examples), err)
	}
	for _, example := range examples {
		t.Run(example.Name(), func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "go", "vet", "./...")
			cmd.Dir = userModule(t, example.Name())
			cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOPROXY=off", "GOWORK=off")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// userModule copies an example to a new module with the versions of this one, and returns its
// folder.
func userModule(t *testing.T, example string) string {
	t.Helper()
	dir, name := t.TempDir(), "example.com/"+example
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	mod := strings.Replace(read(t, filepath.Join(root, "go.mod")), "module "+module, "module "+name, 1)
	mod += "\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + here + "\n"
	write(t, filepath.Join(dir, "go.mod"), mod)
	write(t, filepath.Join(dir, "go.sum"), read(t, filepath.Join(root, "go.sum")))
	files, err := filepath.Glob(filepath.Join(root, "examples", example, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("got %d files, %v", len(files), err)
	}
	for _, file := range files {
		src := strings.ReplaceAll(read(t, file), module+"/examples/"+example, name)
		write(t, filepath.Join(dir, filepath.Base(file)), src)
	}
	return dir
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
