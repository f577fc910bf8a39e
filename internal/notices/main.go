// Command notices prints the licences of Go and of every module that packages link, as copies of what is
// built from them must have it: go run ./internal/notices -os linux,darwin,windows ./cmd/modelpatch
package main

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Texts of licences, and what has to go with them; some distributions of Go keep Go's one folder up.
var (
	licence = regexp.MustCompile(`(?i)^(licen[cs]e|copying)[^/]*$`)
	further = regexp.MustCompile(`(?i)^(notice|patents)[^/]*$`)
)

func main() {
	systems := flag.String("os", "linux", "operating systems, separated by commas")
	arch := flag.String("arch", "amd64", "architecture")
	flag.Parse()
	if err := run(strings.Split(*systems, ","), *arch, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

func run(systems []string, arch string, packages []string) error {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	modules, err := modulesOf(systems, arch, packages)
	if err != nil {
		return err
	}
	goRoot := strings.TrimSpace(string(root))
	if err := write("Go", goRoot, filepath.Dir(goRoot)); err != nil {
		return err
	}
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		m := modules[path]
		if err := write(path+" "+m.version, m.folder); err != nil {
			return err
		}
	}
	return nil
}

// linked is a module that packages link.
type linked struct{ version, folder string }

// modulesOf lists the modules that packages link on some systems, by path.
func modulesOf(systems []string, arch string, packages []string) (map[string]linked, error) {
	out := map[string]linked{}
	for _, system := range systems {
		c := exec.Command("go", append([]string{"list", "-mod=readonly", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}"}, packages...)...)
		c.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
		c.Stderr = os.Stderr
		listed, err := c.Output()
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(listed)) {
			if f := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(f) == 3 {
				out[f[0]] = linked{f[1], f[2]}
			}
		}
	}
	return out, nil
}

// write prints the texts of the first folder that has a licence.
func write(module string, folders ...string) error {
	for _, folder := range folders {
		entries, err := os.ReadDir(folder)
		if err != nil {
			return err
		}
		found := false
		out := fmt.Sprintf("%s\n%s\n%[1]s\n\n", strings.Repeat("=", 78), module)
		for _, e := range entries {
			is := licence.MatchString(e.Name())
			if e.IsDir() || strings.HasSuffix(e.Name(), ".go") || !is && !further.MatchString(e.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(folder, e.Name()))
			if err != nil {
				return err
			}
			found = found || is
			out += strings.TrimSpace(string(text)) + "\n\n"
		}
		if found {
			_, err := os.Stdout.WriteString(out)
			return err
		}
	}
	return errors.New(module + " has no licence in its folder: executables must not be given away without it")
}
