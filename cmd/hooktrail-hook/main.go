// Command hooktrail-hook answers a hook of an agent. It does the same as publisher hook and starts
// faster.
package main

import (
	"os"

	"github.com/hooktrail/hooktrail/internal/command/hook"
)

func main() { os.Exit(hook.Main(os.Args[1:])) }
