// How a refinement converged: residual and, where there is one, objective of each iteration.
import type { Iteration } from '../api/types.ts';
import { significant } from '../lib/format.ts';
import { Plot } from './plot.tsx';

export function Convergence({ iterations }: { iterations: Iteration[] }) {
  const x = iterations.map((i) => i.iteration);
  const objective = iterations.map((i) => i.objective);
  return (
    <div class="plots two">
      <Plot
        title="Relative residual" x={x} y={[iterations.map((i) => i.relative_residual)]} xName="Iteration" height={220}
        format={(v) => significant(v, 4)} logarithmic series={[{ name: 'residual', colour: 'series-1', points: true }]}
      />
      {objective.some((v) => v !== null) && (
        <Plot
          title="Objective" x={x} y={[objective]} xName="Iteration" height={220} logarithmic
          format={(v) => significant(v, 5)} series={[{ name: 'objective', colour: 'series-2', points: true }]}
        />
      )}
    </div>
  );
}
