package policy

import (
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

var remoteRules = map[string][]remoteRule{
	"terraform": terraformRules, "tofu": terraformRules, "terragrunt": terraformRules,
	"pulumi": {{words: "destroy"}, {words: "stack rm"}, {words: "up", options: "-y --yes", asks: true}},
	"cdk":    {{words: "destroy"}}, "sls": {{words: "remove"}}, "serverless": {{words: "remove"}}, "sst": {{words: "remove"}},
	"kubectl": kubectlRules, "oc": kubectlRules, "k": kubectlRules,
	"helm":   {{words: "uninstall"}, {words: "delete"}, {words: "del"}, {words: "un"}, {words: "rollback", asks: true}},
	"argocd": {{words: "app delete"}, {words: "proj delete"}}, "flux": {{words: "delete"}, {words: "uninstall"}},
	"docker": dockerRules, "podman": dockerRules, "nerdctl": dockerRules,
	"docker-compose": {{words: "down", options: "-v --volumes"}, {words: "rm", options: "-v"}},
	"aws": {
		{words: "s3 rb"},
		{words: "s3 rm", options: "--recursive"},
		{words: "s3 sync", options: "--delete"},
		{words: "cloudformation delete-stack"},
		{words: "ec2 stop-instances", asks: true},
	},
	"gsutil": {
		{words: "rm", options: "-r -R -rf -a"}, {words: "rb"}, {words: "rsync", options: "-d"},
	},
	"gh": {
		{words: "repo delete"},
		{words: "release delete"},
		{words: "secret delete"},
		{words: "repo archive"},
		{words: "repo edit", options: "--visibility", asks: true},
		{words: "api", options: "DELETE -XDELETE --method=DELETE"},
	},
	"glab": {{words: "repo delete"}, {words: "release delete"}}, "bq": {{words: "rm"}},
	"heroku": {{words: "apps:destroy"}, {words: "destroy"}, {words: "pg:reset"}, {words: "addons:destroy"}},
	"fly":    {{words: "apps destroy"}, {words: "destroy"}, {words: "volumes destroy"}}, "flyctl": {{words: "apps destroy"}, {words: "destroy"}, {words: "volumes destroy"}},
	"vercel": {{words: "rm"}, {words: "remove"}}, "netlify": {{words: "sites:delete"}}, "wrangler": {{words: "delete"}, {words: "d1 delete"}, {words: "r2 bucket delete"}},
	"firebase": {{words: "firestore:delete"}, {words: "database:remove"}, {words: "hosting:disable"}}, "supabase": {{words: "db reset"}, {words: "projects delete"}},
	"eksctl": {{words: "delete"}}, "kops": {{words: "delete"}}, "nomad": {{words: "job stop"}, {words: "system gc"}}, "consul": {{words: "kv delete", options: "-recurse"}},
	"vault":   {{words: "kv destroy"}, {words: "kv delete"}, {words: "kv metadata delete"}, {words: "secrets disable"}, {words: "delete"}},
	"etcdctl": {{words: "del"}}, "rabbitmqctl": {{words: "reset"}, {words: "force_reset"}, {words: "delete_queue"}, {words: "delete_vhost"}},
	"rclone": {{words: "delete"}, {words: "purge"}, {words: "sync"}}, "s3cmd": {{words: "rb"}, {words: "del"}, {words: "rm"}}, "mc": {{words: "rb"}, {words: "rm"}},
	"redis-cli": {{words: "flushall"}, {words: "flushdb"}}, "dropdb": {{}}, "dropuser": {{}}, "mysqladmin": {{words: "drop"}},
	"vagrant": {{words: "destroy"}}, "virsh": {{words: "undefine"}, {words: "destroy"}}, "lxc": {{words: "delete"}}, "multipass": {{words: "delete"}},
	"zfs": {{words: "destroy"}, {words: "rollback"}}, "zpool": {{words: "destroy"}}, "lvremove": {{}}, "vgremove": {{}}, "parted": {{}}, "fdisk": {{}},
	"diskutil": {{words: "erasedisk"}, {words: "erasevolume"}, {words: "apfs deletecontainer"}}, "borg": {{words: "delete"}, {words: "prune"}},
	"restic": {{words: "forget"}, {words: "prune"}}, "prisma": {{words: "migrate reset"}, {words: "db push", options: "--force-reset"}},
	"rails": {{words: "db:drop"}, {words: "db:reset"}, {words: "db:drop:all"}}, "rake": {{words: "db:drop"}, {words: "db:reset"}}, "artisan": {{words: "migrate:fresh"}, {words: "db:wipe"}},
	"sequelize": {{words: "db:drop"}}, "alembic": {{words: "downgrade base"}}, "kafka-topics": {{options: "--delete"}}, "kafka-topics.sh": {{options: "--delete"}},
	"influx": {{words: "bucket delete"}, {words: "delete"}},
}

var terraformRules = []remoteRule{
	{words: "destroy"},
	{words: "apply", options: "-destroy --destroy"},
	{words: "state rm"},
	{words: "workspace delete"},
	{words: "apply", options: "-auto-approve --auto-approve", asks: true},
	{words: "force-unlock", asks: true},
	{words: "run-all destroy"},
}

var kubectlRules = []remoteRule{
	{words: "delete namespace"},
	{words: "delete namespaces"},
	{words: "delete ns"},
	{words: "delete pv"},
	{words: "delete pvc"},
	{words: "delete persistentvolumeclaim"},
	{words: "delete persistentvolume"},
	{words: "delete crd"},
	{words: "delete node"},
	{words: "delete nodes"},
	{words: "delete pods", options: "--all", asks: true},
	{words: "delete pod", options: "--all", asks: true},
	{words: "delete jobs", options: "--all", asks: true},
	{words: "delete", options: "--all --all-namespaces -A"},
	{words: "drain"},
	{words: "replace", options: "--force"},
	{words: "scale", options: "--replicas=0", asks: true},
	{words: "apply", options: "--prune", asks: true},
}

var dockerRules = []remoteRule{
	{words: "volume rm"},
	{words: "volume prune"},
	{words: "system prune", options: "--volumes"},
	{words: "compose down", options: "-v --volumes"},
	{words: "swarm leave"},
	{words: "stack rm"},
	{words: "compose rm", options: "-v"},
}

var deletingVerbs = words("delete purge destroy undelete-protection delete-batch")

func destroysByVerb(cmd shell.Command) finding {
	if opensToAll(cmd) {
		return doubted(cmd.Name + " gives everyone access, or one account all rights")
	}
	switch cmd.Name {
	case "aws":
		return awsDeletes(cmd)
	case "gcloud", "az", "doctl", "oci", "ibmcloud", "hcloud", "linode-cli", "scw", "openstack":
		if saysVerb(cmd.Args, deletingVerbs) || leads(cmd.Args, []string{"storage", "rm"}) {
			return blocked(cmd.Name + " delete removes data beyond the working directory")
		}
	case "kubectl", "oc", "k":
		return deletesResources(operandsOf(cmd))
	case "docker", "podman":
		return removesContainers(cmd.Args)
	case "curl", "http", "xh":
		if requestsDelete(cmd) && (contactsOthers(cmd) || deletesIndex(cmd.Args)) {
			return doubted(cmd.Name + " deletes a resource on another machine")
		}
	}
	return finding{}
}

func removesContainers(args []shell.Word) finding {
	if leads(args, []string{"rm"}) && slices.ContainsFunc(args, func(a shell.Word) bool { return a.Open }) {
		return doubted("docker rm of containers that are only known when it runs")
	}
	return finding{}
}

var awsVerbs = strings.Fields("delete- terminate- purge- batch-delete- remove- deregister- schedule-key-deletion disable-key")

func awsDeletes(cmd shell.Command) finding {
	ops := operandsOf(cmd)
	for _, op := range ops[:min(6, len(ops))] {
		if slices.ContainsFunc(awsVerbs, func(verb string) bool { return strings.HasPrefix(op, verb) }) {
			return blocked("aws " + op + " removes data beyond the working directory")
		}
	}
	return finding{}
}

func deletesIndex(args []shell.Word) bool {
	return slices.ContainsFunc(args, func(a shell.Word) bool { return strings.Contains(a.Text, ":9200") || strings.Contains(a.Text, "_all") })
}

var clouds = words("aws gcloud az gsutil kubectl oc")

func opensToAll(cmd shell.Command) bool {
	return clouds[cmd.Name] && slices.ContainsFunc(cmd.Args, func(a shell.Word) bool {
		for _, mark := range []string{"allUsers", "allAuthenticatedUsers", "0.0.0.0/0", "public-read", "AdministratorAccess", "cluster-admin", "roles/owner"} {
			if strings.Contains(a.Text, mark) {
				return true
			}
		}
		return false
	})
}

func saysVerb(args []shell.Word, verbs map[string]bool) bool {
	for i, a := range args {
		if verbs[a.Text] && (i == 0 || !strings.HasPrefix(args[i-1].Text, "-")) {
			return true
		}
	}
	return false
}

func operandsOf(cmd shell.Command) []string {
	var ops []string
	for _, a := range cmd.Args {
		if !strings.HasPrefix(a.Text, "-") {
			ops = append(ops, strings.ToLower(a.Text))
		}
	}
	return ops
}

var disposable = words("pod pods po job jobs event events")

func deletesResources(ops []string) finding {
	i := slices.Index(ops[:min(3, len(ops))], "delete")
	if i < 0 {
		return finding{}
	}
	for _, op := range ops[i+1:] {
		kind, _, _ := strings.Cut(op, "/")
		if disposable[kind] {
			return finding{}
		}
	}
	return doubted("kubectl delete removes resources of a cluster")
}

func requestsDelete(cmd shell.Command) bool {
	for i, a := range cmd.Args {
		switch a.Text {
		case "-XDELETE", "--request=DELETE":
			return true
		case "DELETE":
			return i == 0 || cmd.Args[i-1].Text == "-X" || cmd.Args[i-1].Text == "--request"
		}
	}
	return false
}
