// What the pages' scripts find in the window: Dash, Plotly, and the maps of a recording.
interface Window {
  dash_clientside: any;
  Plotly: any;
  heatMaps: (data: any, options: object) => any;
}
