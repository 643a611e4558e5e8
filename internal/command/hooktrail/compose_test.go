package hooktrail

import (
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"

	ours "github.com/hooktrail/hooktrail/internal/platform/cli"
)

func compose(t *testing.T) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{filepath.Join(root, "docker-compose.yml")}, cli.WithInterpolation(true))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return project
}

func TestCompose_Services(t *testing.T) {
	project := compose(t)
	got := slices.Sorted(maps.Keys(project.Services))
	if want := []string{"auditor", "credentials", "enrolment", "metrics", "nats", "publisher", "streams", "tracker"}; !slices.Equal(got, want) {
		t.Fatalf("got services %v, want %v", got, want)
	}
	stages := map[string]stage{}
	for _, s := range dockerfile(t) {
		stages[s.name] = s
	}
	for name, s := range project.Services {
		t.Run(name, func(t *testing.T) {
			if s.Build == nil || stages[s.Build.Target].name == "" {
				t.Fatalf("the image is not of a stage of the Dockerfile: %+v", s.Build)
			}
			checkConfined(t, s)
			checkStart(t, s, project)
			checkVolumes(t, s, project, stages[s.Build.Target])
			if name != "nats" {
				checkCommand(t, name, s)
			}
		})
	}
}

// The auditor's pins must outlive its container.
func TestCompose_Pins(t *testing.T) {
	if !slices.ContainsFunc(compose(t).Services["auditor"].Volumes, func(v types.ServiceVolumeConfig) bool { return v.Source == "auditor-pins" }) {
		t.Error("the auditor has no volume for pins")
	}
}

// The tracker gets the key of erasure orders with its endorsement.
func TestCompose_OrderKey(t *testing.T) {
	if s := compose(t).Services["enrolment"]; !slices.Contains(s.Command, "/enrol/tracker") || !slices.Contains(s.Command, "endorse") {
		t.Errorf("got %q", s.Command)
	}
}

func checkConfined(t *testing.T, s types.ServiceConfig) {
	t.Helper()
	if s.Privileged || !s.ReadOnly || s.User != "65532:65532" || !slices.Contains(s.CapDrop, "ALL") || len(s.CapAdd) > 0 ||
		!slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
		t.Errorf("it may do too much: privileged %v, read only %v, user %s, drops %v, adds %v, %v",
			s.Privileged, s.ReadOnly, s.User, s.CapDrop, s.CapAdd, s.SecurityOpt)
	}
	for _, p := range s.Ports {
		if p.HostIP != "127.0.0.1" {
			t.Errorf("port %d is published on %q", p.Target, p.HostIP)
		}
	}
}

var once = []string{"credentials", "streams", "enrolment"}

// checkStart checks that services wait for each other's health, and for the end of those that run
// once.
func checkStart(t *testing.T, s types.ServiceConfig, project *types.Project) {
	t.Helper()
	for name, d := range s.DependsOn {
		want := types.ServiceConditionHealthy
		if slices.Contains(once, name) {
			want = types.ServiceConditionCompletedSuccessfully
		}
		if _, ok := project.Services[name]; !ok || d.Condition != want {
			t.Errorf("it depends on %s: %s", name, d.Condition)
		}
	}
	if slices.Contains(once, s.Name) {
		if s.Restart != "no" || s.HealthCheck != nil {
			t.Errorf("it restarts: %q, or has a health check", s.Restart)
		}
		return
	}
	checkHealth(t, s)
}

// checkVolumes checks that each mount is a volume at a folder that the image has for this user, and
// that a service can read only its own key.
func checkVolumes(t *testing.T, s types.ServiceConfig, project *types.Project, image stage) {
	t.Helper()
	for _, v := range s.Volumes {
		if _, ok := project.Volumes[v.Source]; v.Type != types.VolumeTypeVolume || !ok {
			t.Errorf("got mount %s of %s", v.Type, v.Source)
		}
		if !slices.ContainsFunc(image.copies, func(c copied) bool {
			return c.owner == s.User && (c.to == v.Target || c.to == filepath.Dir(v.Target))
		}) {
			t.Errorf("the image has no folder of %s at %s", s.User, v.Target)
		}
		owner, isKey := strings.CutSuffix(v.Source, "-key")
		switch {
		case s.Name == "credentials":
		case s.Name == "enrolment": // without a network
			if s.NetworkMode != "none" || v.Source != "auditor" && v.Target != "/enrol/"+v.Source {
				t.Errorf("it has a network, or the volume %s at %s", v.Source, v.Target)
			}
		case v.Source == "credentials", isKey && owner != s.Name && (owner != "owner" || s.Name != "streams"),
			v.Source == "nats-accounts" && s.Name != "nats":
			t.Errorf("it has the volume %s", v.Source)
		case isKey && (!v.ReadOnly || *s.Environment["HOOKTRAIL_NATS_NKEY"] != v.Target+"/"+owner+".nk"):
			t.Errorf("it does not use %s", v.Source)
		case v.Source == s.Name+"-pins": // separate from the ledgers
			if file := *s.Environment["HOOKTRAIL_KNOWN_LEDGERS"]; v.Target == "/data" || filepath.Dir(file) != v.Target || v.ReadOnly {
				t.Errorf("the pins are in %s, and %s is at %s", file, v.Source, v.Target)
			}
		case !isKey && v.Source != "nats-accounts" && (v.Source != s.Name || v.Target != "/data"):
			t.Errorf("it has the volume %s at %s", v.Source, v.Target)
		}
	}
}

// checkHealth checks that the health check uses a port or the process of the service.
func checkHealth(t *testing.T, s types.ServiceConfig) {
	t.Helper()
	if s.HealthCheck == nil || len(s.HealthCheck.Test) < 3 {
		t.Fatal("there is no health check")
	}
	last := s.HealthCheck.Test[len(s.HealthCheck.Test)-1]
	if s.HealthCheck.Test[1] == "pidof" {
		if last != s.Command[0] {
			t.Errorf("the health check looks for %s", last)
		}
		return
	}
	u, err := url.Parse(last)
	if err != nil {
		t.Fatal(err)
	}
	listens := strings.Join(s.Command, " ")
	if s.Name == "nats" {
		listens = readDoc(t, "deploy/nats.conf")
	}
	if !strings.Contains(listens, "0.0.0.0:"+u.Port()) && !strings.Contains(listens, u.Host) {
		t.Errorf("the health check asks port %s", u.Port())
	}
}

func checkCommand(t *testing.T, name string, s types.ServiceConfig) {
	t.Helper()
	command, ok := commands()[s.Command[0]]
	if !ok || s.Command[0] != name && !slices.Contains(once, name) {
		t.Fatalf("there is no command %s", s.Command[0])
	}
	leaf, args, err := command().Find(s.Command[1:])
	if err != nil || leaf.HasSubCommands() {
		t.Fatalf("%v: %v", s.Command, err)
	}
	if err := leaf.ParseFlags(args); err != nil {
		t.Errorf("%v: %v", s.Command, err)
	}
	if left := leaf.Flags().Args(); len(left) > 0 {
		t.Errorf("%v: %v is no flag", s.Command, left)
	}
	for variable := range s.Environment {
		flag := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(variable, "HOOKTRAIL_"), "_", "-"))
		if leaf.Flag(flag) == nil && leaf.InheritedFlags().Lookup(flag) == nil || ours.EnvName(flag) != variable {
			t.Errorf("nothing reads %s", variable)
		}
	}
}
