package policy

import (
	"path"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/hooks/policy/shell"
)

// Files with credentials, relative to a home directory. A name that ends in "/" is a directory.
var homeSecrets = strings.Fields(".ssh/ .gnupg/ .aws/credentials .aws/sso/ .aws/cli/cache/ .azure/ .config/gcloud/ .kube/config " +
	".docker/config.json .config/gh/hosts.yml .config/hub .password-store/ .terraform.d/credentials.tfrc.json .config/op/ " +
	".cargo/credentials .cargo/credentials.toml .gem/credentials .netrc .npmrc .yarnrc.yml .pypirc .pgpass .my.cnf .git-credentials " +
	".config/git/credentials .vault-token .bash_history .zsh_history .python_history .psql_history .mysql_history " +
	".local/share/keyrings/ Library/Keychains/ .mozilla/ .config/google-chrome/ .config/chromium/ .m2/settings.xml .boto .s3cfg " +
	".config/rclone/rclone.conf .oci/ .config/doctl/config.yaml .fly/config.yml .claude/.credentials.json .codex/auth.json " +
	".gemini/oauth_creds.json .config/sops/age/ .electrum/ .bitcoin/ .ethereum/keystore/ .hooktrail/keys/")

// homeSamples are examples of secret paths. A pattern such as ".ssh/*" is secret if it matches one
// of the examples.
var homeSamples = strings.Fields(".ssh .ssh/id_rsa .ssh/id_ed25519 .ssh/id_ecdsa .aws .aws/credentials .gnupg .netrc .npmrc .pypirc " +
	".pgpass .git-credentials .kube/config .docker/config.json .config/gcloud .vault-token .env")

var systemSecrets = strings.Fields("/etc/shadow /etc/gshadow /etc/shadow- /etc/sudoers /etc/ssl/private/ /etc/kubernetes/admin.conf /etc/kubernetes/pki/ " +
	"/var/run/secrets/ /run/secrets/ /etc/krb5.keytab /root/.ssh/ /etc/ssh/ssh_host_rsa_key /etc/ssh/ssh_host_ed25519_key /etc/rancher/k3s/k3s.yaml")

var secretNames = words(".env .envrc id_rsa id_dsa id_ecdsa id_ed25519 id_ed25519_sk .netrc .pgpass .git-credentials .pypirc .htpasswd .vault_pass " +
	"credentials.json client_secret.json service-account.json service_account.json serviceaccount.json secrets.yml secrets.yaml secrets.json master.key .dockercfg kubeconfig " +
	"terraform.tfvars login.keychain-db logins.json key4.db")

var publicEndings = strings.Fields(".example .sample .template .dist .pub .tmpl .test .defaults .schema .md .enc .gpg .age .sealed .d.ts .ts .js .py .go")

func isSecret(file shell.File) bool {
	full := fullPath(file.Text[strings.LastIndex(file.Text, shell.Hole)+1:], file.Dir)
	base := strings.ToLower(path.Base(full))
	if isPublic(base) || unknownName(file.Text) {
		return false
	}
	rest, atHome := inHome(full)
	switch {
	case secretNames[base], strings.HasPrefix(base, ".env."):
		return true
	case file.Glob && atHome:
		return matchesSecret(rest, homeSamples)
	case file.Glob:
		return matchesSecret(base, []string{".env", "id_rsa", "id_ed25519"})
	case atHome && rest == ".ssh/config":
		return false
	}
	return atHome && listed(homeSecrets, rest) || inSecretPlace(full, base)
}

func inSecretPlace(full, base string) bool {
	return listed(systemSecrets, full) || strings.HasPrefix(full, "/proc/") && base == "environ"
}

func unknownName(name string) bool {
	return strings.Contains(name, shell.Hole) && !strings.Contains(name, shell.Hole+"/")
}

func isPublic(base string) bool {
	return base == "known_hosts" || slices.ContainsFunc(publicEndings, func(end string) bool { return strings.HasSuffix(base, end) })
}

func matchesSecret(pattern string, samples []string) bool {
	return strings.Trim(path.Base(pattern), "*?.") != "" && globs(pattern, samples)
}

func listed(list []string, name string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		dir, isDir := strings.CutSuffix(entry, "/")
		return name == dir || isDir && strings.HasPrefix(name, entry)
	})
}

func maybeSecret(name string) bool {
	base := strings.ToLower(path.Base(name))
	switch path.Ext(base) {
	case ".pem", ".p12", ".pfx", ".kdbx", ".ppk", ".jks", ".keystore", ".key":
		return !slices.ContainsFunc([]string{"pub", "cert", "ca.", "chain"}, func(part string) bool { return strings.Contains(base, part) })
	}
	return false
}

func inHome(full string) (string, bool) {
	for _, home := range []string{shell.HomeDir, "/root"} {
		if rest, ok := below(full, home); ok {
			return rest, true
		}
	}
	for _, parent := range homes {
		if rest, ok := below(full, parent); ok {
			_, rest, _ = strings.Cut(rest, "/")
			return rest, rest != ""
		}
	}
	return "", false
}
