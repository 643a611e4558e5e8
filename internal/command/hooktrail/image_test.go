package hooktrail

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// stage is one FROM of a Dockerfile.
type stage struct {
	name    string
	user    string
	command []string
	copies  []copied
}

// copied is one COPY. An empty from means the repository.
type copied struct {
	from    string
	owner   string
	sources []string
	to      string
}

func dockerfile(t *testing.T) []stage {
	t.Helper()
	text := strings.ReplaceAll(readDoc(t, "Dockerfile"), "\\\n", " ")
	var stages []stage
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if words[0] == "FROM" {
			if len(words) != 4 || words[2] != "AS" {
				t.Fatalf("stage without a name: %s", line)
			}
			stages = append(stages, stage{name: words[3]})
			continue
		}
		s := &stages[len(stages)-1]
		switch words[0] {
		case "COPY":
			s.copies = append(s.copies, parseCopy(words[1:]))
		case "USER":
			s.user = words[1]
		case "CMD":
			list := strings.Trim(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "CMD")), "[]")
			for word := range strings.SplitSeq(list, ",") {
				s.command = append(s.command, strings.Trim(strings.TrimSpace(word), `"`))
			}
		case "WORKDIR", "RUN", "ENV":
		default:
			t.Fatalf("instruction %s is not known to this test", words[0])
		}
	}
	return stages
}

func parseCopy(words []string) copied {
	var c copied
	for len(words) > 0 && strings.HasPrefix(words[0], "--") {
		if from, ok := strings.CutPrefix(words[0], "--from="); ok {
			c.from = from
		}
		if owner, ok := strings.CutPrefix(words[0], "--chown="); ok {
			c.owner = owner
		}
		words = words[1:]
	}
	c.sources, c.to = words[:len(words)-1], words[len(words)-1]
	return c
}

func TestDockerfile(t *testing.T) {
	ignored := strings.Split(readDoc(t, ".dockerignore"), "\n")
	stages := dockerfile(t)
	var before []string
	for _, s := range stages {
		for _, c := range s.copies {
			if c.from != "" {
				if !slices.Contains(before, c.from) {
					t.Errorf("stage %s copies from %s, which is not above it", s.name, c.from)
				}
				continue
			}
			for _, source := range c.sources {
				if _, err := os.Stat(filepath.Join(root, source)); err != nil {
					t.Errorf("stage %s: %v", s.name, err)
				}
				top, _, _ := strings.Cut(path.Clean(source), "/")
				if !slices.Contains(ignored, "!"+top) {
					t.Errorf("stage %s copies %s, which .dockerignore keeps out", s.name, source)
				}
			}
		}
		before = append(before, s.name)
		if s.name != "build" && s.user != "65532:65532" {
			t.Errorf("stage %s runs as %q", s.name, s.user)
		}
	}
	if want := []string{"build", "hooktrail", "nats"}; !slices.Equal(before, want) {
		t.Errorf("got stages %v, want %v", before, want)
	}
}
