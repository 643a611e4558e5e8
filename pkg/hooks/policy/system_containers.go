package policy

import (
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

var hostOptions = words("--pid=host --ipc=host --userns=host --uts=host --cgroupns=host --cap-add=all --cap-add=sys_admin --cap-add=sys_ptrace " +
	"--cap-add=sys_module --security-opt=seccomp=unconfined --security-opt=apparmor=unconfined --security-opt=apparmor:unconfined")

var starting = words("run create exec build buildx")

func entersHost(cmd shell.Command, root string) finding {
	if !slices.ContainsFunc(cmd.Args[:min(4, len(cmd.Args))], func(a shell.Word) bool { return starting[a.Text] }) {
		return finding{}
	}
	worst := finding{}
	for i, a := range cmd.Args {
		name, value, has := strings.Cut(a.Text, "=")
		if !has && i+1 < len(cmd.Args) {
			value = cmd.Args[i+1].Text
		}
		if rest, ok := strings.CutPrefix(a.Text, "-v"); ok && rest != "" {
			name, value = "-v", strings.TrimPrefix(rest, "=")
		}
		worst = worst.or(entersBy(strings.ToLower(name), value, cmd.Dir, root))
	}
	return worst
}

func entersBy(option, value, dir, root string) finding {
	switch option {
	case "-v", "--volume", "--mount":
		return mountsHost(value, dir, root)
	case "--device":
		return doubted("the container gets a device of the machine")
	case "--privileged":
		return blocked("the container gets rights on the machine")
	}
	switch setting := option + "=" + strings.ToLower(value); {
	case setting == "--network=host", setting == "--net=host":
		return doubted("the container uses the network of the machine")
	case hostOptions[setting]:
		return blocked("the container gets rights on the machine")
	}
	return finding{}
}

func sourceOf(mount string) string {
	if !strings.Contains(mount, ",") && !strings.Contains(mount, "source=") && !strings.Contains(mount, "src=") {
		source, _, _ := strings.Cut(mount, ":")
		return source
	}
	for part := range strings.SplitSeq(mount, ",") {
		if key, value, ok := strings.Cut(part, "="); ok && (key == "source" || key == "src") {
			return value
		}
	}
	return ""
}

var clocks = words("/etc/localtime /etc/timezone")

func mountsHost(mount, dir, root string) finding {
	source := homed(sourceOf(mount))
	switch {
	case slices.ContainsFunc([]string{"docker.sock", "containerd.sock", "podman.sock"}, func(end string) bool { return strings.HasSuffix(source, end) }):
		return blocked("the container gets the socket of the container service")
	case !strings.HasPrefix(source, "/"), clocks[source]:
		return finding{}
	case isSecret(shell.File{Word: shell.Word{Text: source}}):
		return blocked("the container gets a directory with credentials")
	case ofSystem(source, dir, root):
		return blocked("the container gets a system directory or a home of the machine")
	}
	return finding{}
}

func ofSystem(source, dir, root string) bool {
	switch locate(shell.Word{Text: source}, dir, root) {
	case locationCritical:
		return source != root
	case locationOutside:
		return slices.ContainsFunc(systemDirs, func(d string) bool {
			_, ok := below(source, d)
			return ok && d != "/srv" && d != "/opt"
		})
	case locationInside, locationTemp, locationUnknown:
	}
	return false
}

func entersNode(cmd shell.Command, ops []string) finding {
	if len(ops) > 1 && ops[0] == "debug" && strings.HasPrefix(ops[1], "node/") {
		return blocked("kubectl debug opens a node of the cluster")
	}
	for _, a := range cmd.Args {
		if strings.Contains(a.Text, `"privileged":true`) || strings.Contains(a.Text, `"hostPID":true`) || strings.Contains(a.Text, `"hostPath"`) {
			return blocked("the pod gets rights on its node")
		}
	}
	if len(ops) > 1 && ops[0] == "create" && strings.HasPrefix(ops[1], "clusterrolebinding") {
		return doubted("kubectl gives rights in the whole cluster")
	}
	return finding{}
}
