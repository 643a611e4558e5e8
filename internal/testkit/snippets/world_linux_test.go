package snippets

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hooktrail/hooktrail/internal/testkit/race"
	"github.com/hooktrail/hooktrail/internal/testkit/realdata"
)

// worldEnv names the root folder of the world of a process.
const worldEnv = "SNIPPETS_WORLD"

const home = "/home/jane/work" // the lines run here

const hosts = "127.0.0.1 localhost nats nats.internal siem tsa.example witness.example other.example third.example\n"

// build makes the folders and files of a root folder. Paths of the documents exist there only.
func build(dir string) error {
	for _, name := range []string{
		"data", "dev", "etc/hooktrail", "etc/nats", "etc/ssl", "home/builder", home, "mnt/witness", "opt/bin", "proc", "safe",
		"src", "srv/reports", "tmp", "usr", "var/lib", "var/log/hooktrail", "backup/acme", "run",
	} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			return err
		}
	}
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		to, err := os.Readlink("/" + name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.Symlink(to, filepath.Join(dir, name))
		} else {
			err = os.Mkdir(filepath.Join(dir, name), 0o755)
		}
		if err != nil {
			return err
		}
	}
	for name, text := range map[string]string{
		"etc/hosts":         hosts,
		"etc/nsswitch.conf": "hosts: files\n",
		"etc/passwd":        "root:x:0:0::/home/jane:/bin/sh\nbuilder:x:1001:1001::/home/builder:/bin/sh\n",
		"etc/group":         "root:x:0:\nbuilder:x:1001:\nagents:x:1002:root\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	for name := range programs {
		if err := os.WriteFile(filepath.Join(dir, "opt/bin", name), nil, 0o755); err != nil {
			return err
		}
	}
	return os.Chmod(filepath.Join(dir, "tmp"), 0o1777)
}

// enter makes dir the root folder of this process, which has a namespace of its own.
func enter(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	repository, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	binds := map[string]string{"/usr": "usr", "/dev": "dev", "/etc/ssl": "etc/ssl", repository: "src", os.Getenv(dataEnv): "data"}
	for name := range programs {
		if err := bind(self, filepath.Join(dir, "opt/bin", name)); err != nil {
			return err
		}
	}
	for _, name := range []string{"bin", "sbin", "lib", "lib64"} {
		if info, err := os.Lstat("/" + name); err == nil && info.IsDir() {
			binds["/"+name] = name
		}
	}
	for from, to := range binds {
		if err := bind(from, filepath.Join(dir, to)); err != nil {
			return err
		}
	}
	if err := unix.Mount("proc", filepath.Join(dir, "proc"), "proc", 0, ""); err != nil {
		return fmt.Errorf("mount proc: %w", err)
	}
	if err := errors.Join(loopback(), unix.Chroot(dir), os.Chdir(home)); err != nil {
		return err
	}
	return setEnvironment()
}

func bind(from, to string) error {
	if err := unix.Mount(from, to, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mount %s at %s: %w", from, to, err)
	}
	return nil
}

// loopback starts the loopback interface of a new network.
func loopback() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(socket) }()
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
}

func setEnvironment() error {
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "HOOKTRAIL_") || strings.HasPrefix(name, "NATS_") || strings.HasPrefix(name, "XDG_") || strings.HasPrefix(name, "SSH_") {
			if err := os.Unsetenv(name); err != nil {
				return err
			}
		}
	}
	var errs []error
	for name, value := range map[string]string{
		"HOME": filepath.Dir(home), "TMPDIR": "/tmp", "USER": "jane", "GORACE": "atexit_sleep_ms=0",
		"PATH": "/opt/bin:/src/internal/testkit/snippets/testdata/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
	} {
		errs = append(errs, os.Setenv(name, value))
	}
	return errors.Join(errs...)
}

const dataEnv = "SNIPPETS_DATA"

// inside runs a test of this package in the world dir and returns what it printed.
func inside(t *testing.T, dir, test string, more ...string) (string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.v", "-test.timeout=5m", "-test.run=^"+test+"$")
	cmd.Env = slices.Concat(os.Environ(), []string{worldEnv + "=" + dir, dataEnv + "=" + realdata.Path(t)}, more)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWPID | unix.CLONE_NEWUTS, Pdeathsig: syscall.SIGKILL,
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	return out.String(), err
}

// requireTools requires the programs of Debian that the lines need. If HOOKTRAIL_TEST_REQUIRE is 1, a
// missing one fails the test instead of skipping it. It reads the files of the world, so that
// go test repeats the test when one of them changes.
func requireTools(t *testing.T) {
	t.Helper()
	skip := t.Skipf
	if os.Getenv("HOOKTRAIL_TEST_REQUIRE") == "1" {
		skip = t.Fatalf
	}
	for _, name := range []string{"curl", "jq", "openssl", "python3", "ssh-agent"} {
		if _, err := exec.LookPath(name); err != nil {
			skip("a document uses %s: %v", name, err)
		}
	}
	for _, pattern := range []string{"testdata/*", "testdata/bin/*", "../../../deploy/*", "../../../docker-compose.yml"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if _, err := os.ReadFile(name); err != nil && !errors.Is(err, syscall.EISDIR) {
				t.Fatal(err)
			}
		}
	}
}

// Each line of the command blocks works as it stands.
func TestPages(t *testing.T) {
	switch {
	case os.Getenv(worldEnv) != "":
		t.Skip("it runs outside")
	case race.Enabled:
		t.Skip("it takes too long under the race detector, and CI runs it without")
	case os.Geteuid() != 0:
		t.Skip("only root can create the namespaces in which the lines of the documents run")
	}
	requireTools(t)
	template := t.TempDir()
	if err := build(template); err != nil {
		t.Fatal(err)
	}
	if out, err := inside(t, template, "TestWorld_Begin"); err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); errors.Is(err, os.ErrPermission) || ok && exit.ExitCode() == exitForbidden {
			t.Skipf("this root cannot create namespaces: %v\n%s", err, out)
		}
		t.Fatalf("%v\n%s", err, out)
	}
	table := entries(t, filepath.Join("testdata", "blocks.yaml"))
	for _, page := range pages(t) {
		if !slices.ContainsFunc(blocks(t, root, page), func(b block) bool { return table.of(b).runs(b) }) {
			continue
		}
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if out, err := exec.CommandContext(t.Context(), "cp", "-a", template+"/.", dir).CombinedOutput(); err != nil {
				t.Fatalf("copy the world: %v\n%s", err, out)
			}
			out, err := inside(t, dir, "TestWorld_Page", pageEnv+"="+page)
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			} else if testing.Verbose() {
				t.Log(out)
			}
		})
	}
}
