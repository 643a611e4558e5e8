package hooktrail

import (
	"path/filepath"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
)

func TestCompose(t *testing.T) {
	options, err := cli.NewProjectOptions([]string{filepath.Join("..", "..", "docker-compose.yml")}, cli.WithInterpolation(true))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range project.Services {
		t.Log(name, s.Command, s.User, s.Build.Target, s.ReadOnly, s.Ports, s.HealthCheck.Test)
	}
}
