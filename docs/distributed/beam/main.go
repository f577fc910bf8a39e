// Command beam checks a fleet of model files on a runner of Apache Beam: Prism on this machine, Flink,
// Dataflow or another by --runner.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/textio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"

	"github.com/modelpatch/modelpatch/docs/distributed/beam/fleet"
)

var (
	filesFrom  = flag.String("files_from", "", "file with the paths or addresses of the models, one a line")
	output     = flag.String("output", "", "file for the reports, one JSON object a line; counts go to OUTPUT.counts")
	executable = flag.String("modelpatch", "modelpatch", "the executable on the workers")
	arguments  = flag.String("arguments", "", "further arguments of modelpatch check, separated by blanks")
	batch      = flag.Int("batch", 200, "files a process")
)

func main() {
	flag.Parse()
	beam.Init()
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "beam:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if *filesFrom == "" || *output == "" {
		return fmt.Errorf("--files_from and --output are needed")
	}
	f, err := os.Open(*filesFrom)
	if err != nil {
		return err
	}
	defer f.Close()
	var paths []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		paths = append(paths, lines.Text())
	}
	if err := lines.Err(); err != nil {
		return err
	}
	p, s := beam.NewPipelineWithRoot()
	reports, counts := fleet.Check(s, *executable, strings.Fields(*arguments), beam.CreateList(s, fleet.Batches(paths, *batch)))
	textio.Write(s, *output, reports)
	textio.Write(s, *output+".counts", counts)
	return beamx.Run(ctx, p)
}
