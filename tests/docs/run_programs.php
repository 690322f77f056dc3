<?php
// Runs programs one after the other, each as if alone. Before what each of them prints stands a NUL.
function run(string $path): void
{
    require $path;
}

foreach (array_slice($argv, 1) as $path) {
    echo "\0";
    try {
        run($path);
    } catch (Throwable $error) {
        echo $error;
    }
}
