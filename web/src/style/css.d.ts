// Style sheets are bundled, not run.
declare module '*.css';
